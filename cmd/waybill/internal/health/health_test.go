package health_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/health"
)

// worker is one that a test makes up: a queue with two slots.
type worker struct {
	*health.Watch
	now    time.Time
	stats  waybill.QueueStats
	away   error // Redis
	unable error
	runs   int
	asked  int
}

func newWorker() *worker {
	w := &worker{now: time.Unix(1_800_000_000, 0)}
	w.Watch = health.New(health.Options{
		Queues: []waybill.QueueOptions{{Name: "q", Concurrency: 2}},
		Stats: func(context.Context, string) (waybill.QueueStats, error) {
			w.asked++
			return w.stats, w.away
		},
		Running: func() []waybill.RunningAttempt {
			return append(make([]waybill.RunningAttempt, 0), []waybill.RunningAttempt{{Queue: "q"}, {Queue: "q"}}[:w.runs]...)
		},
		Unable: func() error { return w.unable },
		Now:    func() time.Time { return w.now },
	})
	return w
}

// after is what the worker says when a while has gone by.
func (w *worker) after(d time.Duration) string {
	w.now = w.now.Add(d)
	return strings.Join(w.Reasons(context.Background()), "; ")
}

func TestWatch(t *testing.T) {
	t.Parallel()
	due := waybill.QueueStats{Ready: 3, OldestReady: time.Hour}
	for name, tc := range map[string]struct {
		set  func(*worker) // before both looks
		then func(*worker) // between them
		want string        // the begin of what is said at the second look, 31 s after the first
	}{
		"an idle worker is well": {set: func(w *worker) { w.stats.OldestReady = -1 }},
		"a busy one too":         {set: func(w *worker) { w.stats, w.runs = due, 2 }},
		"work that is due and not asked for": {
			set: func(w *worker) { w.stats = due }, want: "queue q: 3 ready, a slot free, and none begun for 31s",
		},
		"work of a paused queue is not due": {set: func(w *worker) { w.stats = due; w.stats.PausedBy = "me" }},
		"work that has just come is not":    {set: func(w *worker) { w.stats = due; w.stats.OldestReady = 29 * time.Second }},
		"a job that was begun in between is a sign of life": {
			set:  func(w *worker) { w.stats = due },
			then: func(w *worker) { w.Observe(waybill.Event{Type: waybill.EventStarted, Queue: "q"}) },
		},
		"one of another queue is none": {
			set:  func(w *worker) { w.stats = due },
			then: func(w *worker) { w.Observe(waybill.Event{Type: waybill.EventStarted, Queue: "other"}) },
			want: "queue q: ",
		},
		"a worker that stops need not ask":  {set: func(w *worker) { w.stats = due; w.Rest() }},
		"Redis that does not answer is red": {set: func(w *worker) { w.away = errors.New("refused") }, want: "Redis is away: refused"},
		"so is Redis that the worker misses": {
			set:  func(w *worker) { w.Observe(waybill.Event{Type: waybill.EventRedisDown, Err: errors.New("lost")}) },
			want: "Redis is away: lost",
		},
		"until it is back": {
			set:  func(w *worker) { w.Observe(waybill.Event{Type: waybill.EventRedisDown, Err: errors.New("lost")}) },
			then: func(w *worker) { w.Observe(waybill.Event{Type: waybill.EventRedisUp}) },
		},
		"a command that can't start is red": {set: func(w *worker) { w.unable = errors.New("no model") }, want: "no job can be done: no model"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker()
			tc.set(w)
			if said := w.after(0); strings.HasPrefix(said, "queue") {
				t.Errorf("at first it says %q", said)
			}
			if tc.then != nil {
				tc.then(w)
			}
			if said := w.after(31 * time.Second); (said == "") != (tc.want == "") || !strings.HasPrefix(said, tc.want) {
				t.Errorf("it says %q, want %q", said, tc.want)
			}
		})
	}
	t.Run("Redis is asked once a second at most", func(t *testing.T) {
		t.Parallel()
		w := newWorker()
		for range 100 {
			w.after(100 * time.Millisecond)
		}
		if w.asked != 10 {
			t.Errorf("it was asked %d times in 10 s", w.asked)
		}
	})
}

func TestWatch_ServeHTTP(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		away         error
		path, accept string
		status       int
		body         string
	}{
		"well":               {path: "/healthz", status: 200, body: "ok\n"},
		"red":                {away: errors.New("refused\nby it"), path: "/healthz", status: 503, body: "Redis is away: refused by it\n"},
		"well, as an object": {path: "/healthz?format=json", status: 200, body: `{"status":"ok","reasons":[]}` + "\n"},
		"red, as an object": {
			away: errors.New("refused"), path: "/healthz", accept: "application/json", status: 503,
			body: `{"status":"red","reasons":["Redis is away: refused"]}` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorker()
			w.away = tc.away
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil)
			r.Header.Set("Accept", tc.accept)
			to := httptest.NewRecorder()
			w.ServeHTTP(to, r)
			if to.Code != tc.status || to.Body.String() != tc.body {
				t.Errorf("%d %q", to.Code, to.Body)
			}
		})
	}
}
