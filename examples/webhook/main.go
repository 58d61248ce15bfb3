// Command webhook posts signed events to whoever asked for them (signatures as in Standard Webhooks). A receiver that
// is busy says when to come again; one that is gone is not asked again.
package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type event struct {
	URL  string
	Body json.RawMessage
}

var post = waybill.Define[event]("webhook.post", waybill.KindOptions{
	Queue: "webhooks", MaxFailures: 10, Timeout: 15 * time.Second, Retry: waybill.Exponential(100*time.Millisecond, time.Hour),
})

type sender struct{ secret []byte } // known to both sides

// direct follows no redirect: that would ask another address by GET, and take its answer for the receiver's. Where
// others name the URL, its dialer has to refuse private addresses too: waybill work --http does.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post is the handler.
func (s sender) post(ctx context.Context, job *waybill.Job[event]) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, job.Args.URL, bytes.NewReader(job.Args.Body))
	if err != nil {
		return waybill.Dead(err) // the URL is none
	}
	r.Header.Set("Content-Type", "application/json")
	s.sign(r.Header, job.IdempotencyKey(), job.Args.Body) // by the ID the receiver knows what came before
	res, err := direct.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	err = fmt.Errorf("the receiver answered %s", res.Status)
	seconds, bad := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16)
	switch {
	case res.StatusCode < 300:
		return nil
	case res.StatusCode == http.StatusGone:
		return waybill.Dead(err)
	case bad == nil:
		return waybill.RetryAfter(min(time.Duration(seconds)*time.Second, time.Hour), err)
	}
	return err
}

func (s sender) sign(h http.Header, id string, body []byte) {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	if err := webhook(context.Background(), rdb, sender{[]byte("a secret")}, "http://127.0.0.1:8080/hooks"); err != nil {
		log.Fatal(err)
	}
}

func webhook(ctx context.Context, rdb *redis.Client, s sender, url string) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	post.Handle(worker, s.post)
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	for _, order := range []string{"order-1", "order-2", "order-3"} {
		body := json.RawMessage(`{"type":"order.shipped","order":"` + order + `"}`)
		sent, err := post.Enqueue(ctx, client, event{url, body}, waybill.ID(order+"/shipped"), waybill.Retention(time.Hour))
		if err != nil {
			return err
		}
		err = post.Wait(ctx, client, sent.ID)
		job, errGet := client.Queue("webhooks").Get(ctx, sent.ID)
		if errGet != nil {
			return errGet
		}
		fmt.Printf("%s: attempt %d, %v\n", sent.ID, job.Attempt, err)
	}
	stop()
	return <-ended
}
