package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/internal/boundary"
	"github.com/waybillhq/waybill/internal/store"
)

// lagEvery is how often the lag is told.
const lagEvery = 10 * time.Second

// purgeEvery is how often a relay looks for rows that are kept no longer.
const purgeEvery = time.Minute

// hear is a round of the reader: what became of the jobs of every queue.
func (r *relay) hear(ctx context.Context) (pause time.Duration, bell <-chan struct{}, err error) {
	var rows map[string]queueRow
	err = step(ctx, func(ctx context.Context) (err error) {
		rows, err = r.o.queueRows(ctx)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	for name, row := range rows {
		if r.stopped() {
			return 0, nil, nil
		}
		err := step(ctx, func(ctx context.Context) error { return r.hearQueue(ctx, row) })
		switch {
		case err == nil, errors.Is(err, ErrLost): // told when it was noticed
		case r.o.away(err):
			return 0, nil, err
		default:
			r.failed(name, err)
		}
	}
	r.recovered()
	return r.o.o.Read, nil, errors.Join(step(ctx, r.noteRead), step(ctx, r.tellLag), step(ctx, r.purge))
}

// readEvery is how often it is written that queues were read of which nothing else is to be written.
const readEvery = 2 * time.Second

func (r *relay) noteRead(ctx context.Context) error {
	queues := r.read
	r.read = nil
	if len(queues) == 0 || time.Since(r.noted) < readEvery {
		return nil
	}
	r.noted = time.Now()
	_, err := r.o.change(ctx, r.o.plain(), "queue_read", listOf(queues))
	return r.o.named(err)
}

// hearQueue reads all that a queue has to tell, marks the rows, and takes away what is marked.
func (r *relay) hearQueue(ctx context.Context, row queueRow) error {
	l, err := r.lane(ctx, row.name)
	if err != nil {
		return err
	}
	l.set(row)
	p := &pass{r: r, l: l, row: row, cursor: "0", limit: time.Now().Add(passTime)}
	for first := true; first || p.more(); first = false {
		if err := p.page(ctx); err != nil || p.beaten {
			return err
		}
	}
	return p.end(ctx)
}

// passTime is how long a pass goes on to read pages; then the other queues have their turn.
const passTime = 5 * time.Second

// pass is one reading of a queue's words from begin to end.
type pass struct {
	r      *relay
	l      *lane
	row    queueRow // before it
	cursor string
	done   []store.Word // committed, and to be taken away

	unread    int64
	oldest    time.Time
	strangers int64 // words of which no row is known
	ended     int
	beaten    bool // another relay was faster

	limit time.Time // no page is read after
	over  bool      // all pages were read, and what comes now is left for the next pass
}

// more says whether the pass goes on: until it was through all pages, and what was marked is taken away. A busy queue tells
// more meanwhile, without end.
func (p *pass) more() bool {
	if p.cursor == "0" || time.Now().After(p.limit) || p.r.stopped() {
		p.over = true
	}
	return !p.over || len(p.done) > 0
}

// page takes away what was marked before, reads the next page and marks its rows. A page is marked only by the relay that
// was the first since it was read: an older word could else be written over a newer one.
func (p *pass) page(ctx context.Context) error {
	before, number, err := p.r.enter(ctx, p.l)
	if err != nil {
		return err
	}
	if before.epoch != p.row.epoch {
		p.beaten = true
		return nil
	}
	short, stop := context.WithTimeout(ctx, sendTime)
	defer stop()
	words, next, s, err := p.l.box.Read(short, number, p.cursor, p.done)
	if errors.Is(err, store.ErrStranger) {
		p.l.stranger()
		_, _, err = p.r.enter(ctx, p.l) // and compares
		p.beaten = true
		return err
	}
	if err != nil {
		return err
	}
	if len(p.done) > 0 {
		boundary.At(ctx, "words removed")
	}
	p.cursor, p.done, p.unread = next, nil, s.Unread
	if err := p.r.compare(ctx, p.l, before, s); err != nil {
		return err
	}
	if p.over {
		p.see(words, nil)
		return nil
	}
	if len(words) == 0 {
		return nil
	}
	boundary.At(ctx, "words read")
	began := time.Now()
	defer p.r.rest(ctx, began)
	return p.mark(ctx, words)
}

// mark writes the words of a page to their rows.
func (p *pass) mark(ctx context.Context, words []store.Word) error {
	o, now := p.r.o, queueRow{}
	var marked map[string]bool
	err := o.short(ctx, func(ctx context.Context, s Session) error {
		n, err := o.change(ctx, s, "queue_turn", p.row.name, p.row.turn, p.row.epoch)
		if p.beaten = n == 0; err != nil || p.beaten {
			return err
		}
		now, _ = p.l.known()
		if _, err := o.change(ctx, s, "queue_raise", now.sent, now.told, p.row.name, p.row.epoch); err != nil {
			return err
		}
		marked, err = o.markWords(ctx, s, p.row.name, words)
		boundary.At(ctx, "words marked")
		return err
	})
	if err != nil || p.beaten {
		return o.named(err)
	}
	p.row.turn++
	p.row.sent, p.row.told = max(p.row.sent, now.sent), max(p.row.told, now.told)
	boundary.At(ctx, "words committed")
	for _, w := range words {
		if marked[w.ID] {
			p.done = append(p.done, w)
		}
	}
	p.ended += len(p.done)
	return p.count(ctx, words, marked)
}

// see gives the IDs of the words that were not marked, and notes how old they are.
func (p *pass) see(words []store.Word, marked map[string]bool) (rest []string) {
	for _, w := range words {
		if marked[w.ID] {
			continue
		}
		rest = append(rest, w.ID)
		if !w.At.IsZero() && (p.oldest.IsZero() || w.At.Before(p.oldest)) {
			p.oldest = w.At
		}
	}
	return rest
}

// count looks after the words that were not marked: their rows are locked by a relay that sends them, or there are none.
func (p *pass) count(ctx context.Context, words []store.Word, marked map[string]bool) error {
	rest := p.see(words, marked)
	if len(rest) == 0 {
		return nil
	}
	known := 0
	err := p.r.o.each(ctx, p.r.o.plain(), func(scan func(...any) error) error {
		known++
		return scan(new(string))
	}, "known", p.row.name, listOf(rest))
	p.strangers += int64(len(rest) - known)
	return p.r.o.named(err)
}

// end writes how much is unread.
func (p *pass) end(ctx context.Context) error {
	o := p.r.o
	if p.ended > 0 {
		o.tell(Event{Type: EventEnded, Queue: p.row.name, Rows: p.ended})
	}
	if p.strangers > p.row.strangers {
		o.o.Log.Warn("outbox: the queue tells of jobs that have no row here; if their rows are gone for good, "+
			"run waybill outbox forget --strangers", slog.String(keyQueue, p.row.name), slog.Int64(keyRows, p.strangers))
	}
	oldest := int64(0)
	if p.unread > 0 && !p.oldest.IsZero() {
		oldest = p.oldest.UnixMilli()
	}
	if err := p.raise(ctx); err != nil {
		return err
	}
	if p.row.readMS != 0 && p.unread == p.row.unread && oldest == p.row.oldestMS && p.strangers == p.row.strangers {
		p.r.read = append(p.r.read, p.row.name)
		return nil
	}
	_, err := o.change(ctx, o.plain(), "queue_lag", p.unread, oldest, p.strangers, p.row.name, p.row.epoch)
	return o.named(err)
}

// raise writes what was seen and not written: a mark that was refused, or that a replay began anew, would else stay too low
// to show a loss until the next row is sent.
func (p *pass) raise(ctx context.Context) error {
	now, _ := p.l.known()
	if now.epoch != p.row.epoch || now.sent <= p.row.sent && now.told <= p.row.told {
		return nil
	}
	_, err := p.r.o.change(ctx, p.r.o.plain(), "queue_raise", now.sent, now.told, p.row.name, p.row.epoch)
	return p.r.o.named(err)
}

// markWords writes words to the rows of a queue that no one else has locked, and gives those that it wrote, or found so.
func (o *Outbox) markWords(ctx context.Context, s Session, queue string, words []store.Word) (map[string]bool, error) {
	ids := make([]string, len(words))
	for i, w := range words {
		ids[i] = w.ID
	}
	seqs := make(map[string]int64, len(words))
	err := o.each(ctx, s, func(scan func(...any) error) error {
		var seq int64
		var id string
		err := scan(&seq, &id)
		seqs[id] = seq
		return err
	}, "rows", queue, listOf(ids))
	if err != nil {
		return nil, err
	}
	by, marked := map[string][]int64{}, make(map[string]bool, len(seqs))
	for _, w := range words {
		if seq, ok := seqs[w.ID]; ok {
			by[w.Word], marked[w.ID] = append(by[w.Word], seq), true
		}
	}
	for word, some := range by {
		var err error
		if word == "live" {
			_, err = o.change(ctx, s, "live", listOf(some))
		} else {
			_, err = o.change(ctx, s, "end", stateOf(word), listOf(some))
		}
		if err != nil {
			return nil, fmt.Errorf("mark rows as %s: %w", word, err)
		}
	}
	return marked, nil
}

// stateOf is what a word makes of a row.
func stateOf(word string) int {
	switch word {
	case "ack":
		return stateAcked
	case "dead":
		return stateDead
	}
	return stateDeleted
}
