package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// wordsItems is about how many words one call of Read brings.
const wordsItems = 1000

// Word is what a queue says became of a job.
type Word struct {
	ID   string
	Word string    // ack, dead, cancelled, deleted, or live: it was requeued. Another is from a newer version
	At   time.Time // when, by Redis's clock; zero where it was not noted
	// Number of the word among all that the queue left for any outbox.
	Number int64
	raw    string // as it stands there
}

// parseWord reads a word as it stands in Redis: "word number ms"; the last may be missing.
func parseWord(id, raw string) Word {
	w := Word{ID: id, Word: raw, raw: raw}
	if f := strings.Fields(raw); len(f) > 0 {
		w.Word = f[0]
		if len(f) > 1 {
			w.Number = number(f[1])
		}
		if len(f) > 2 {
			w.At = moment(f[2])
		}
	}
	return w
}

// Read first removes the words of done, each only where it still stands as it was read, and then reads up to about 1,000 from
// cursor on; "0" is the begin, and the end when it comes back. A word may come twice in a pass. Errors: ErrStranger, else as
// any call; words are removed then, or not, and may be given again.
func (o *Outbox) Read(ctx context.Context, number byte, cursor string, done []Word) (words []Word, next string, s Standing, err error) {
	if number == 0 {
		return nil, "", Standing{}, ErrStranger
	}
	for len(done) > maxItems {
		if _, err := o.read(ctx, number, page{"0", 0}, done[:maxItems]); err != nil {
			return nil, "", Standing{}, err
		}
		done = done[maxItems:]
	}
	reply, err := o.read(ctx, number, page{cursor, wordsItems}, done)
	if err != nil {
		return nil, "", Standing{}, err
	}
	words, next, s = wordsRead(reply, number)
	return words, next, s, nil
}

// A page is what one call reads: from where on, and about how many words.
type page struct {
	cursor string
	most   int
}

// read makes one call: it removes words and then reads a page.
func (o *Outbox) read(ctx context.Context, n byte, p page, done []Word) ([]any, error) {
	args := make([]any, 0, 4+2*len(done))
	args = append(args, string(n), o.name, p.cursor, p.most)
	for _, w := range done {
		args = append(args, w.ID, w.raw)
	}
	reply, _, err := o.q.call(ctx, "told", args...)
	switch {
	case err != nil:
		return nil, err
	case len(reply) == 2 && text(reply[1]) == stranger:
		return nil, fmt.Errorf("told %q: %w", o.q.name, ErrStranger)
	case len(reply) < 6 || len(reply)%2 != 0:
		return nil, fmt.Errorf("told %q: %d values: %w", o.q.name, len(reply), errReply)
	}
	return reply, nil
}

func wordsRead(reply []any, n byte) (words []Word, next string, s Standing) {
	s = Standing{Number: n, Told: number(reply[2]), Sent: number(reply[3]), Before: number(reply[3]), Unread: number(reply[4]), Now: moment(reply[0])}
	for i := 6; i < len(reply); i += 2 {
		words = append(words, parseWord(text(reply[i]), text(reply[i+1])))
	}
	return words, text(reply[5]), s
}
