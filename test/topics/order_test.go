package topictest_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	topictest "github.com/waybillhq/waybill/test/topics"
)

// TestOrder has one worker process with a concurrency of 1, and beside it a subscription that fails every event.
func TestOrder(t *testing.T) {
	t.Parallel()
	const n = 1000
	s := newStand(t, redistest.Start(t), "ordered", "failing")
	s.ended(s.publisher(0, n/2, 0))
	s.subscriber("failing", func(o *topictest.Orders) { o.Fails = true })
	ordered := s.subscriber("ordered", func(o *topictest.Orders) { o.Concurrency, o.Tells = 1, true })
	s.ended(s.publisher(n/2, n, 10*time.Millisecond))
	s.drained("ordered", "failing")
	must(t, ordered.Stop())

	begun := 0
	for _, said := range ordered.Said() {
		if said.Attempt != 1 {
			continue
		}
		if said.Job != topictest.ID(begun) {
			t.Fatalf("%s began after %d others", said.Job, begun)
		}
		begun++
	}
	if st := s.queue("failing"); begun != n || st.Died != n || st.Failures != 3*n {
		t.Errorf("%d first attempts began in order, want %d; %d events died beside them after %d failures", begun, n, st.Died, st.Failures)
	}
	s.whole("ordered")
	s.whole("failing")
}
