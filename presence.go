package waybill

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
	"github.com/waybillhq/waybill/internal/store"
)

// How workers show that they are there: every so often, and after so long without a word they are gone.
const (
	presentEvery = 10 * time.Second
	presentLife  = 3 * presentEvery
	vanishTime   = time.Second // for the last word
)

// presence shows that a worker is there, and hears what is wished of it.
type presence struct {
	w      *Worker
	id     string
	stop   context.CancelFunc // ends the worker's Run
	called chan struct{}      // there may be a wish, or something has changed
	heard  store.Wish         // what was heard last
	began  time.Time
}

func newPresence(w *Worker) *presence {
	return &presence{w: w, id: record.NewWorkerID(), called: make(chan struct{}, 1), began: time.Now()}
}

// run shows the worker until ctx ends.
func (p *presence) run(ctx context.Context) {
	var checking sync.WaitGroup
	checking.Go(func() { p.w.watchServer(ctx) })
	defer checking.Wait()
	every := time.NewTicker(presentEvery)
	defer every.Stop()
	for {
		p.show(ctx)
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), vanishTime)
			defer cancel()
			_ = p.w.client.store.Vanish(last, p.id) // else it goes by its time
			return
		case <-every.C:
		case <-p.called:
		}
	}
}

func (p *presence) show(ctx context.Context) {
	about, err := json.Marshal(p.about())
	if err != nil {
		return // strings and numbers always encode
	}
	wish, err := p.w.client.store.Appear(ctx, p.id, about, presentLife)
	if err != nil || wish == p.heard {
		return // where Redis is away the claims tell of it
	}
	p.heard = wish
	switch wish {
	case store.WishQuiet:
		p.w.log.Info("asked to be quiet: no more claims", slog.String(keyWorker, p.id))
		p.w.Quiet()
		p.w.team.Tell(runner.Event{Type: runner.QuietAsked})
		p.call()
	case store.WishStop:
		p.w.log.Info("asked to stop", slog.String(keyWorker, p.id))
		p.w.team.Tell(runner.Event{Type: runner.StopAsked})
		p.stop()
	}
}

// call makes the worker show itself, soon.
func (p *presence) call() {
	select {
	case p.called <- struct{}{}:
	default:
	}
}

// heed is told of a line of a control channel; "": until now wishes may have been missed.
func (p *presence) heed(line string) {
	if id, ok := strings.CutPrefix(line, store.WishNotice); line == "" || ok && id == p.id {
		p.call()
	}
}

func (p *presence) about() WorkerInfo {
	w := p.w
	i := WorkerInfo{ID: p.id, PID: os.Getpid(), Version: version(), State: WorkerWorking, StartedAt: p.began, Running: len(w.Running())}
	i.Host, _ = os.Hostname()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.served {
		i.Queues = append(i.Queues, WorkerQueue{s.name, s.concurrency, s.runner.Worker()})
		i.Concurrency += s.concurrency
	}
	slices.SortFunc(i.Queues, func(a, b WorkerQueue) int { return cmp.Compare(a.Name, b.Name) })
	i.Concurrency = cmp.Or(w.o.Concurrency, i.Concurrency)
	if _, every := w.kinds[AnyKind]; !every {
		i.Kinds = slices.Sorted(maps.Keys(w.kinds))
	}
	switch {
	case w.ended:
		i.State = WorkerStopping
	case w.quiet:
		i.State = WorkerQuiet
	}
	return i
}

// version is that of this module in the running program.
func version() string {
	const module = "github.com/waybillhq/waybill"
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if b.Main.Path == module {
		return b.Main.Version
	}
	for _, m := range b.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}
