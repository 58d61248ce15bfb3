package store

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Progress is what an attempt last told of how far it has come.
type Progress struct {
	Percent int
	Note    string    // one line
	At      time.Time // when it was told, by the server's clock
}

// Progress notes how far the attempt of a lease member has come. Held: written. CancelledNow: written, but a
// cancel was asked for. Lost: the lease is another's, and nothing was written. The note is one line of at most
// 1 KiB; who calls checks that. It may be repeated: the last one counts.
func (q *Queue) Progress(ctx context.Context, member string, percent int, note string) (Verdict, error) {
	reply, _, err := q.call(ctx, "progress", member, percent, note)
	var out [1]Verdict
	err = verdicts(reply, err, out[:])
	return out[0], err
}

// parseProgress reads an entry of the progress hash: time, percent, note; nil where there is none.
func parseProgress(entry string) *Progress {
	f := strings.SplitN(entry, " ", 3)
	if len(f) < 3 {
		return nil
	}
	percent, _ := strconv.Atoi(f[1])
	return &Progress{Percent: percent, Note: f[2], At: moment(f[0])}
}
