package waybill

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// WorkerState is how a worker stands.
type WorkerState string

// States of a worker.
const (
	WorkerWorking  WorkerState = "working"
	WorkerQuiet    WorkerState = "quiet"    // it claims nothing more
	WorkerStopping WorkerState = "stopping" // it claims nothing more and waits for its handlers
)

// WorkerInfo is a worker that was there within the last 30 seconds, as it last said itself, at most 10 seconds ago.
type WorkerInfo struct {
	ID          string // of this run of the process
	Host        string
	PID         int
	Version     string // of Waybill in its program
	State       WorkerState
	StartedAt   time.Time // by its host's clock
	Queues      []WorkerQueue
	Kinds       []string // nil = every kind
	Concurrency int      // attempts at a time over all queues
	Running     int      // attempts
}

// WorkerQueue is one queue of a worker.
type WorkerQueue struct {
	Name        string `json:"name"`
	Concurrency int    `json:"concurrency"`
	Holder      string `json:"holder"` // the name under which it holds jobs of this queue: JobInfo.Worker
}

// workerJSON is the one form in which a worker is kept and printed.
type workerJSON struct {
	ID          string        `json:"id"`
	Host        string        `json:"host"`
	PID         int           `json:"pid"`
	Version     string        `json:"version"`
	State       WorkerState   `json:"state"`
	StartedAt   *string       `json:"started_at"`
	Queues      []WorkerQueue `json:"queues"`
	Kinds       []string      `json:"kinds"`
	Concurrency int           `json:"concurrency"`
	Running     int           `json:"running"`
}

// MarshalJSON gives the object that the command line prints: every field always there, null = none.
func (i WorkerInfo) MarshalJSON() ([]byte, error) {
	return json.Marshal(workerJSON{
		i.ID, i.Host, i.PID, i.Version, i.State, utc(i.StartedAt), i.Queues, i.Kinds, i.Concurrency, i.Running,
	})
}

// UnmarshalJSON reads it.
func (i *WorkerInfo) UnmarshalJSON(b []byte) error {
	var o workerJSON
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	*i = WorkerInfo{
		ID: o.ID, Host: o.Host, PID: o.PID, Version: o.Version, State: o.State, Queues: o.Queues, Kinds: o.Kinds,
		Concurrency: o.Concurrency, Running: o.Running,
	}
	if o.StartedAt != nil {
		i.StartedAt, _ = time.Parse(time.RFC3339, *o.StartedAt)
	}
	return nil
}

// Workers gives the workers that are there, by host and start. It is for people to look on: no job depends on it.
// Errors: ErrUnavailable.
func (c *Client) Workers(ctx context.Context) ([]WorkerInfo, error) {
	all, err := c.store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]WorkerInfo, 0, len(all))
	for id, about := range all {
		i := WorkerInfo{}
		if err := json.Unmarshal(about, &i); err != nil {
			i.ID = id // of a newer version, or damaged: that it is there can be told
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b WorkerInfo) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// hosts remembers where the holders of jobs run, so that a list of many jobs does not read all workers for each. The
// zero value knows none. It is safe for concurrent use.
type hosts struct {
	mu   sync.Mutex
	of   map[string]string // by the name under which a worker holds jobs
	read time.Time
}

// hostsAge is how long it is believed that a holder who is not known is none of the workers.
const hostsAge = time.Second

// hostOf is where the holder of a job runs, for people to read; "" where that is not known.
func (c *Client) hostOf(ctx context.Context, holder string) string {
	h := &c.hosts
	h.mu.Lock()
	defer h.mu.Unlock()
	if host, ok := h.of[holder]; ok || time.Since(h.read) < hostsAge {
		return host
	}
	all, _ := c.Workers(ctx) // none where they can't be read
	h.of, h.read = map[string]string{}, time.Now()
	for _, i := range all {
		for _, q := range i.Queues {
			h.of[q.Holder] = fmt.Sprintf("%s pid %d", i.Host, i.PID)
		}
	}
	return h.of[holder]
}

// QuietWorker asks a worker to claim nothing more. id is the worker's, or the name under which it holds a job. It hears of it at once, or within 10 seconds; its attempts go on, and
// so does its process. Errors: ErrNoWorker, ErrUnavailable, ErrUnknown.
func (c *Client) QuietWorker(ctx context.Context, id string) error {
	return c.ask(ctx, id, store.WishQuiet)
}

// StopWorker asks a worker to end: its Run returns as when its context ends, within its grace. Whether its process ends
// then, and whether a supervisor starts it again, is up to them. Else as QuietWorker.
func (c *Client) StopWorker(ctx context.Context, id string) error {
	return c.ask(ctx, id, store.WishStop)
}

func (c *Client) ask(ctx context.Context, id string, w store.Wish) error {
	all, err := c.Workers(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.ID == id || slices.ContainsFunc(i.Queues, func(q WorkerQueue) bool { return q.Holder == id }) {
			queue := ""
			if len(i.Queues) > 0 {
				queue = i.Queues[0].Name
			}
			return c.store.Ask(ctx, i.ID, queue, w)
		}
	}
	return fmt.Errorf("worker %s: %w", id, ErrNoWorker)
}
