package topictest_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/redistest"
	topictest "github.com/waybillhq/waybill/test/topics"
)

// TestBeside measures how long a subscription takes for the same number of events alone and beside one that fails every
// event. Rounds alternate, and the best of each counts: three, and more where the machine is busy. The test runs alone.
func TestBeside(t *testing.T) {
	const n, most = 1000, 9
	alone := newStand(t, redistest.Start(t), "good")
	beside := newStand(t, redistest.Start(t), "good", "failing")
	slow := func(o *topictest.Orders) { o.Concurrency, o.Takes = 8, 5*time.Millisecond } // Redis is not what it waits for
	alone.subscriber("good", slow)
	beside.subscriber("good", slow)
	beside.subscriber("failing", slow, func(o *topictest.Orders) { o.Fails = true })

	best, other := time.Hour, time.Hour
	for i := 0; i < 3 || i < most && 2*other > 3*best; i++ {
		best = min(best, alone.drains(i, n))
		other = min(other, beside.drains(i, n, "failing"))
	}
	t.Logf("%d events alone %s, beside a subscription that fails all of them %s", n, best, other)
	if 2*other > 3*best {
		t.Errorf("%d events take %s alone, and %s beside a subscription that fails all of them", n, best, other)
	}
	for _, s := range []*stand{alone, beside} {
		st := s.queue("good")
		if st.Completed != st.Accepted || st.Completed != s.stats().Published || st.Deliveries != st.Completed {
			t.Errorf("good: %+v", st)
		}
		s.whole("good")
	}
	if st := beside.queue("failing"); st.Died != beside.stats().Published || st.Failures != 3*st.Died {
		t.Errorf("failing: %+v", st)
	}
}

// drains publishes a round of n events while nobody may take them, and gives the time that the subscription good takes for
// them. Others begin with it and are waited for, but not measured.
func (s *stand) drains(round, n int, others ...string) time.Duration {
	s.Helper()
	ctx := s.Context()
	for _, name := range append(others, "good") {
		must(s.T, s.client.Queue("orders/"+name).Pause(ctx, "a test"))
	}
	_, err := topictest.Topic.PublishMany(ctx, s.client, topictest.Events(round*n, (round+1)*n))
	must(s.T, err)
	for _, name := range append(others, "good") {
		must(s.T, s.client.Queue("orders/"+name).Resume(ctx))
	}
	begun := time.Now()
	s.drained("good")
	took := time.Since(begun)
	s.drained(others...)
	return took
}
