package outbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/record"
)

// row is a job that is to be entered.
type row struct {
	at   int // its place among the requests
	d    record.Draft
	fp   string
	body []byte

	fresh bool // its ID was made up just now: no row has it
}

// rowName is what a row is unique by.
type rowName struct{ queue, id string }

// A statement enters at most so many rows and bytes. The numbers of rows are few, so that the texts of statements are few
// and drivers keep them prepared.
const chunkBytes = 1 << 20

// chunk is how many of the rows the next statement enters.
func chunk(rows []row) int {
	bytes, most := 0, len(rows)
	for i, r := range rows {
		if bytes += len(r.body); i > 0 && bytes > chunkBytes {
			most = i
			break
		}
	}
	for _, n := range []int{100, 10} {
		if most >= n {
			return n
		}
	}
	return 1
}

// insert enters rows where there are none, and gives those that are new.
func (o *Outbox) insert(ctx context.Context, s Session, key string, rows []row) (map[rowName]bool, error) {
	entry, ours := "", o.d.Family() == string(MariaDB)
	if ours {
		entry = rand.Text()
	}
	text, args := o.sql["insert"], make([]any, 0, 8*len(rows))
	values := make([]string, len(rows))
	for i, r := range rows {
		values[i] = o.placed(len(args))
		args = append(args, r.d.Queue, r.d.ID, nullable(key), []byte(r.fp), r.body, delay(r.d.Job), due(r.d.Job))
		if ours {
			args = append(args, entry)
		}
	}
	text = strings.Replace(text, "ROWS", strings.Join(values, ", "), 1)
	entered := make(map[rowName]bool, len(rows))
	if !ours {
		err := s.Query(ctx, text, args, func(scan func(...any) error) error {
			var n rowName
			err := scan(&n.queue, &n.id)
			entered[n] = true
			return err
		})
		return entered, err
	}
	if _, err := s.Exec(ctx, text, args); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.fresh {
			entered[rowName{r.d.Queue, r.d.ID}] = true
		}
	}
	return entered, o.mine(ctx, s, rows, entry, entered)
}

// placed is the values of one row as they stand in a statement, from is the number of parameters before them.
func (o *Outbox) placed(from int) string {
	text := o.sql["row"]
	if o.d != PostgreSQL {
		return text
	}
	for n := 7; n > 0; n-- { // the high ones first: $1 begins $10
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(n)+"::", "$"+strconv.Itoa(from+n)+"\x00")
	}
	return strings.ReplaceAll(text, "\x00", "::")
}

// delay is how long after now a job is due, in ms; 0 where it has a time of its own, which beats it.
func delay(j record.Job) int64 {
	if !j.At.IsZero() {
		return 0
	}
	return j.Delay.Milliseconds()
}

// due is the time at which a job is due, ms since 1970; 0 where it has none.
func due(j record.Job) int64 {
	if j.At.IsZero() {
		return 0
	}
	return j.At.UnixMilli()
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// mine adds the rows that this call entered, by reading whose they are.
func (o *Outbox) mine(ctx context.Context, s Session, rows []row, entry string, entered map[rowName]bool) error {
	for queue, ids := range byQueue(rows, entered) {
		err := o.each(ctx, s, func(scan func(...any) error) error {
			var id, whose string
			var fp []byte
			err := scan(&id, &fp, &whose)
			if whose == entry {
				entered[rowName{queue, id}] = true
			}
			return err
		}, "existing", queue, listOf(ids))
		if err != nil {
			return err
		}
	}
	return nil
}

// there reads the fingerprints of the rows that were there before.
func (in *entering) there(ctx context.Context, rows []row, entered map[rowName]bool) (map[rowName]string, error) {
	there := map[rowName]string{}
	for queue, ids := range byQueue(rows, entered) {
		err := in.o.each(ctx, in.s, func(scan func(...any) error) error {
			var id string
			var fp []byte
			dest := []any{&id, &fp}
			if in.o.d.Family() == string(MariaDB) {
				dest = append(dest, new(string))
			}
			err := scan(dest...)
			there[rowName{queue, id}] = string(fp)
			return err
		}, "existing", queue, listOf(ids))
		if err != nil {
			return nil, fmt.Errorf("read rows that were there: %w", err)
		}
	}
	for name, fp := range there {
		if fp == "" { // some other language's, which has not reckoned one
			fp, err := in.reckoned(ctx, name)
			if err != nil {
				return nil, err
			}
			there[name] = fp
		}
	}
	return there, nil
}

// reckoned is the fingerprint of a row that has none; "" where its body can't be read.
func (in *entering) reckoned(ctx context.Context, name rowName) (fp string, err error) {
	err = in.o.each(ctx, in.s, func(scan func(...any) error) error {
		var body []byte
		err := scan(&body)
		if d, unreadable := parsed(name.queue, body); unreadable == nil {
			fp = d.Fingerprint()
		}
		return err
	}, "body", name.queue, name.id)
	return fp, err
}

// byQueue gives the IDs of the rows that are not known to be entered.
func byQueue(rows []row, entered map[rowName]bool) map[string][]string {
	all := map[string][]string{}
	for _, r := range rows {
		if !entered[rowName{r.d.Queue, r.d.ID}] {
			all[r.d.Queue] = append(all[r.d.Queue], r.d.ID)
		}
	}
	return all
}
