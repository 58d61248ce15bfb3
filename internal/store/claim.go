package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/record"
)

// Claim is one request for jobs. A worker numbers its claims upwards and has one in flight.
type Claim struct {
	Worker  string        // record.NewWorkerID, one a process and queue
	Number  int64         // from 1
	Most    int           // jobs; 0 = upkeep only; at most 1,000
	Lease   time.Duration // at most MaxLease
	Suspect bool          // may take one job that crashed twice
	Bytes   int           // of records; 0 = ClaimBytes
	Kinds   []string      // that the worker knows; empty = every kind
	// Room is how many jobs of a kind this claim may take; kinds that are not in it have no bound. A job whose
	// kind has no room is parked, as one of an unknown kind is, and comes first once there is room.
	Room map[string]int
}

// Claimed is the answer to a claim.
type Claimed struct {
	Jobs   []Delivery
	Paused bool
	Late   bool      // a later claim of this worker was answered before
	Again  bool      // this claim was answered before: what it still holds
	Now    time.Time // by the server's clock
	Left   int64     // claimable jobs that stayed
	Next   time.Time // when something becomes claimable or a lease runs out; zero = nothing known
	Newer  int64     // jobs met whose record has a newer format, left alone
	// Parked jobs are set aside by kind, whether the worker knows it or not. While there are any, a worker that
	// has room for a kind again claims.
	Parked int64
}

// Delivery is one job under a lease.
type Delivery struct {
	ID, Token, Element                  string
	Attempt, Failures, Crashes, Snoozes int
	Record                              []byte
	Deadline                            time.Time // of the lease, by the server's clock
}

// Member is what stands in the list of leases: the proof in every later call.
func (d Delivery) Member() string { return d.Token + " " + d.Element }

// Claim makes work runnable and leases up to c.Most jobs.
func (q *Queue) Claim(ctx context.Context, c Claim) (Claimed, error) {
	if c.Bytes == 0 {
		c.Bytes = ClaimBytes
	}
	suspect := "0"
	if c.Suspect {
		suspect = "1"
	}
	args := make([]any, 0, 7+len(c.Kinds)+len(c.Room))
	args = append(args, c.Worker, c.Number, min(c.Most, maxItems), milliseconds(max(c.Lease, time.Millisecond)), suspect, c.Bytes)
	reply, _, err := q.call(ctx, "claim", c.appendKinds(args)...)
	if err != nil {
		return Claimed{}, err
	}
	return parseClaim(c, reply)
}

// appendKinds adds the kinds as the script takes them: a name, or "name=most"; "*" stands for all.
func (c Claim) appendKinds(args []any) []any {
	for _, k := range c.Kinds {
		if room, ok := c.Room[k]; ok {
			k += "=" + strconv.Itoa(max(0, room))
		}
		args = append(args, k)
	}
	if len(c.Kinds) > 0 {
		return args
	}
	args = append(args, "*")
	for k, room := range c.Room {
		args = append(args, k+"="+strconv.Itoa(max(0, room)))
	}
	return args
}

// claimHead is how many values stand before the jobs in the reply.
const claimHead = 7

func parseClaim(c Claim, reply []any) (Claimed, error) {
	if len(reply) < claimHead || (len(reply)-claimHead)%3 != 0 {
		return Claimed{}, fmt.Errorf("claim: %d values: %w", len(reply), errReply)
	}
	out := Claimed{Now: moment(reply[1]), Left: number(reply[2]), Next: moment(reply[3]), Newer: number(reply[4]), Parked: number(reply[6])}
	word := text(reply[0])
	out.Paused, out.Late, out.Again = word == "paused", word == "late", word == "again"
	out.Jobs = make([]Delivery, 0, (len(reply)-claimHead)/3)
	for i := claimHead; i < len(reply); i += 3 {
		d, err := parseDelivery(text(reply[i]), text(reply[i+1]), text(reply[i+2]))
		if err != nil {
			return out, fmt.Errorf("claim: %w", err)
		}
		d.Token = strconv.Itoa(d.Attempt) + "-" + c.Worker + "." + strconv.FormatInt(c.Number, 10)
		d.Deadline = moment(reply[5])
		out.Jobs = append(out.Jobs, d)
	}
	return out, nil
}

// firstCounts is what stands beside a job that is claimed for the first time, as most are.
const firstCounts = "1 0 0 0"

func parseDelivery(el, counts, rec string) (Delivery, error) {
	_, id, err := record.SplitElement(el)
	if err != nil {
		return Delivery{}, err
	}
	d := Delivery{ID: id, Element: el, Record: []byte(rec)}
	if counts == firstCounts {
		d.Attempt = 1
		return d, nil
	}
	f := strings.Fields(counts)
	if len(f) != 4 {
		return d, fmt.Errorf("counts %q: %w", counts, errReply)
	}
	for i, p := range []*int{&d.Attempt, &d.Failures, &d.Crashes, &d.Snoozes} {
		if *p, err = strconv.Atoi(f[i]); err != nil {
			return d, fmt.Errorf("counts %q: %w", counts, errReply)
		}
	}
	return d, nil
}
