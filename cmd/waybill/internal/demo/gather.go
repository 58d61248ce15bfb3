package demo

import (
	"context"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/outside"
)

// effects are what one kind of job has done, told by who is not the queue.
type effects struct {
	outside.Counts
	of map[string]bool // jobs, by ID
}

// settleUp makes the account, tells it, and checks it.
func (r *run) settleUp(ctx context.Context) error {
	a := &r.account
	a.Seed, a.Redis = r.Seed, r.server.url
	listed, err := r.listed(ctx, waybill.Filter{})
	if err != nil {
		return err
	}
	if a.Queue, err = r.client.Queue(queueName).Stats(ctx); err != nil {
		return err
	}
	done, err := r.done(ctx)
	if err != nil {
		return err
	}
	a.Kinds, a.Lost = r.byKind(listed, done)
	var lost []string
	if a.Topic, lost, err = r.topicAccount(ctx, listed); err != nil {
		return err
	}
	a.Lost = append(a.Lost, lost...)
	if a.Ledger, err = readLedger(ctx, r.stage.ledger(), r.stage.gateway.Book); err != nil {
		return err
	}
	for i := range a.Kills {
		k := &a.Kills[i]
		k.Attempt = listed[k.Job].Attempt
		for id, attempt := range k.attempts {
			if listed[id].Attempt > attempt {
				k.Again++
			}
		}
	}
	a.TookMS = time.Since(r.began).Milliseconds()
	a.Complaints = append([]string{}, r.check(*a)...) // null in JSON would mean that nobody looked
	a.Right = len(a.Complaints) == 0
	r.reached = true
	if r.Keep {
		a.Kept = &Kept{r.server.url, r.server.pid, r.stage.dir}
	}
	r.tell()
	if !a.Right {
		return fmt.Errorf("%w: %s", ErrWrong, strings.Join(a.Complaints, "; "))
	}
	return nil
}

// listed are jobs and events of all queues, by what they are called.
func (r *run) listed(ctx context.Context, f waybill.Filter) (map[string]waybill.JobInfo, error) {
	all := map[string]waybill.JobInfo{}
	for _, queue := range queues() {
		for j, err := range r.client.Queue(queue).Jobs(ctx, f) {
			if err != nil {
				return nil, err
			}
			all[called(queue, j.ID)] = j
		}
	}
	return all, nil
}

// done asks all who know what was done.
func (r *run) done(ctx context.Context) (map[string]effects, error) {
	seen, err := r.thumbnailsSeen()
	if err != nil {
		return nil, err
	}
	scored, err := r.scored(ctx)
	if err != nil {
		return nil, err
	}
	s := r.stage
	return map[string]effects{
		sendMail.Name(): byBook(s.mail.Book, sendMail.Name(), domain), charge.Name(): byBook(s.gateway.Book, charge.Name(), ""),
		thumbnail.Name(): seen, scoreTable.Name(): scored, postHook.Name(): byBook(s.hooks.Book, postHook.Name(), ""),
	}, nil
}

func byBook(b *outside.Book, kind, suffix string) effects {
	e := effects{b.Counts(), map[string]bool{}}
	for key := range b.Done() {
		e.of[strings.TrimSuffix(strings.TrimPrefix(key, kind+"/"), suffix)] = true
	}
	return e
}

// thumbnailsSeen looks at the thumbnails on disk: each has to be a whole picture of the right size.
func (r *run) thumbnailsSeen() (e effects, err error) {
	e.of = map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(r.stage.thumbnails(), "picture-*.png"))
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return e, err
		}
		m, err := png.Decode(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return e, fmt.Errorf("%s: %w", path, err)
		}
		if m.Bounds().Dx() == wide/shrink && m.Bounds().Dy() == high/shrink {
			e.of[strings.TrimSuffix(filepath.Base(path), ".png")] = true
		}
	}
	e.Effects, e.Keys = len(e.of), len(e.of)
	return e, err
}

// scored compares the results that are kept with the tables' jobs with what comes out here.
func (r *run) scored(ctx context.Context) (e effects, err error) {
	e.of = map[string]bool{}
	for id, csv := range r.plan.csv {
		got, err := scoreTable.Wait(ctx, r.client, id)
		if errors.Is(err, waybill.ErrNotFound) || errors.Is(err, waybill.ErrNoResult) || errors.Is(err, waybill.ErrDead) {
			continue // it is missing in the account
		}
		if err != nil {
			return e, err
		}
		want, err := scoring().table(csv)
		if err != nil {
			return e, err
		}
		if slices.Equal(got.Scores, want) {
			e.of[id] = true
		}
	}
	e.Effects, e.Keys = len(e.of), len(e.of)
	return e, nil
}

// byKind compares what was sent, what the queue lists and what was done.
func (r *run) byKind(listed map[string]waybill.JobInfo, done map[string]effects) (kinds []KindAccount, lost []string) {
	lost = []string{}
	at := map[string]int{}
	for _, kind := range []string{sendMail.Name(), charge.Name(), thumbnail.Name(), scoreTable.Name(), postHook.Name()} {
		at[kind] = len(kinds)
		e := done[kind]
		kinds = append(kinds, KindAccount{
			Kind: kind, Effects: e.Effects, Keys: e.Keys, Stray: len(e.of), Repeats: e.Repeats, Busy: e.Busy, Refused: e.Refused,
			Unheard: e.Lost,
		})
	}
	for _, sent := range r.plan.requests {
		k, has := &kinds[at[sent.Kind]], done[sent.Kind].of[sent.ID]
		j := listed[sent.ID]
		k.Sent++
		k.Deliveries += j.Attempt
		switch {
		case j.State == waybill.StateCompleted && has:
			k.Finished++
			k.Stray--
		case j.State == waybill.StateDead:
			k.Dead++
		default:
			lost = append(lost, sent.ID)
		}
	}
	return kinds, lost
}
