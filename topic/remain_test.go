package topic_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/topic"
)

// written is what was logged so far.
type written struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *written) has(what string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(w.text.String(), what)
}

func TestTopic_Subscribe_lostForGood(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client()
	c, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, said := &stand{t: t, rdb: rdb, c: c, prefix: "wb", s: orders.Stream(c)}, &written{}
	w, err := waybill.NewWorker(c, waybill.WorkerOptions{Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	l := newLog()
	orders.Subscribe(w, "mail", topic.SubscribeOptions{}, l.note)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	s.publishWhenThere("mail", 1, 1)
	l.await(t, 1)
	pipe := rdb.TxPipeline() // its name goes to somebody else before the worker looks
	pipe.FlushAll(t.Context())
	pipe.XGroupCreateMkStream(t.Context(), "wb:{orders}:stream", "mail", "0")
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.until("the worker says that it can't make it anew", func() bool {
		return said.has(`level=ERROR msg="subscription was lost and can't be made anew" queue=orders/mail error="subscription orders/mail: a consumer group`)
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
