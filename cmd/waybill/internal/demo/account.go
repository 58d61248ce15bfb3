package demo

import (
	"fmt"
	"slices"

	"github.com/waybillhq/waybill"
)

// Account is what became of all jobs: by the queue's own counts, by a list of all its jobs, and by what the outside
// parties did.
type Account struct {
	Seed       uint64             `json:"seed"`
	Redis      string             `json:"redis"` // its URL
	TookMS     int64              `json:"took_ms"`
	Right      bool               `json:"right"`
	Complaints []string           `json:"complaints"` // why it is not right
	Queue      waybill.QueueStats `json:"queue"`      // by its own counts
	Kinds      []KindAccount      `json:"kinds"`
	Ledger     Ledger             `json:"ledger"`
	Topic      TopicAccount       `json:"topic"`
	Kills      []Kill             `json:"kills"`
	Lost       []string           `json:"lost"` // jobs and events that did not end, or whose effect is missing
	Kept       *Kept              `json:"kept"` // null = nothing is left behind
}

// KindAccount is the account of the jobs of one kind.
type KindAccount struct {
	Kind string `json:"kind"`
	Sent int    `json:"sent"` // without duplicates
	// By the list of all jobs.
	Finished   int `json:"finished"`
	Dead       int `json:"dead"`
	Deliveries int `json:"deliveries"`
	// By the other side.
	Effects int `json:"effects"` // how often something was done
	Keys    int `json:"keys"`    // for how many jobs
	Stray   int `json:"stray"`   // of them not of a job that finished
	Repeats int `json:"repeats"` // asked for again, and suppressed
	Busy    int `json:"busy"`    // told to come again, and put off or tried again
	Refused int `json:"refused"` // refused for good
	Unheard int `json:"unheard"` // answers that were lost, or that a killed worker did not hear
}

// Kept is what is left behind on demand.
type Kept struct {
	Redis string `json:"redis"` // URL
	PID   int    `json:"pid"`   // to be sent SIGTERM
	Dir   string `json:"dir"`
}

// complaints tells all that is not as it has to be; none is a right account.
func (a Account) complaints() []string {
	var all []string
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			all = append(all, fmt.Sprintf(format, args...))
		}
	}
	s, sum := a.Queue, a.sum()
	for _, k := range a.Kinds {
		expect(k.Sent == k.Finished+k.Dead, "%s: %d sent, but %d finished and %d dead", k.Kind, k.Sent, k.Finished, k.Dead)
		expect(k.Effects == k.Keys, "%s: %d effects for %d jobs: something was done twice", k.Kind, k.Effects, k.Keys)
		expect(k.Keys == k.Finished, "%s: %d finished, but %d have their effect", k.Kind, k.Finished, k.Keys)
		expect(k.Dead <= k.Refused, "%s: %d dead, but only %d refused", k.Kind, k.Dead, k.Refused)
		expect(k.Stray == 0, "%s: %d effects are of jobs that did not finish", k.Kind, k.Stray)
	}
	expect(len(a.Lost) == 0, "lost: %v", a.Lost)
	expect(s.Live() == 0, "%d jobs have not ended", s.Live())
	expect(s.Accepted+s.Requeued == s.Completed+s.Died+s.Cancelled+s.Deleted+s.Live(), "the queue's count of jobs does not add up")
	expect(s.Deliveries == s.Completed+s.Failures+s.Crashes+s.Snoozes+s.Released+s.Active,
		"the queue's count of deliveries does not add up")
	expect(s.Accepted == int64(sum.Sent), "%d jobs were sent, and %d accepted", sum.Sent, s.Accepted)
	expect(s.Duplicates == sentAgain, "%d jobs were sent again, and %d were duplicates", sentAgain, s.Duplicates)
	expect(s.Completed == int64(sum.Finished), "the queue counts %d finished, and lists %d", s.Completed, sum.Finished)
	expect(s.Died == int64(sum.Dead), "the queue counts %d dead, and lists %d", s.Died, sum.Dead)
	expect(s.Died == declined, "%d payments are declined, and %d jobs dead", declined, s.Died)
	expect(s.Deliveries == int64(sum.Deliveries), "the queue counts %d deliveries, its jobs %d", s.Deliveries, sum.Deliveries)
	untold := int64(sum.wrong()) - s.Failures - s.Snoozes
	expect(untold >= 0 && untold <= s.Crashes, "%d calls went wrong outside, and the queue counts %d failures and %d put off",
		sum.wrong(), s.Failures, s.Snoozes)
	return slices.Concat(all, a.Ledger.complaints(a.paid()), a.Topic.complaints(), a.ofKills())
}

// paid is the number of payments that finished.
func (a Account) paid() (n int) {
	for _, k := range a.Kinds {
		if k.Kind == charge.Name() {
			n = k.Finished
		}
	}
	return n
}

// sum adds up all kinds.
func (a Account) sum() (t KindAccount) {
	for _, k := range a.Kinds {
		t.Sent, t.Finished, t.Dead, t.Deliveries = t.Sent+k.Sent, t.Finished+k.Finished, t.Dead+k.Dead, t.Deliveries+k.Deliveries
		t.Busy, t.Refused, t.Unheard = t.Busy+k.Busy, t.Refused+k.Refused, t.Unheard+k.Unheard
	}
	return t
}

// wrong is how many calls went wrong outside. Each is a failure, unless its worker was killed before it told the queue.
func (k KindAccount) wrong() int { return k.Busy + k.Refused + k.Unheard }

// kills is how many workers are killed.
const kills = 3

// ofKills tells what is wrong about the killed workers.
func (a Account) ofKills() (all []string) {
	if len(a.Kills) != kills {
		all = append(all, fmt.Sprintf("%d workers were killed, not %d", len(a.Kills), kills))
	}
	again, crashes := 0, a.Queue.Crashes
	for _, s := range a.Topic.Subscriptions {
		crashes += s.Queue.Crashes
	}
	for _, k := range a.Kills {
		again += k.Again
		if k.Attempt < 2 {
			all = append(all, fmt.Sprintf("%s was in hand when %s was killed, and was not delivered again", k.Job, k.Worker))
		}
	}
	if crashes < int64(len(a.Kills)) || again < len(a.Kills) {
		all = append(all, fmt.Sprintf("%d workers were killed, and %d jobs taken back", len(a.Kills), crashes))
	}
	return all
}
