package demo

import (
	"fmt"
	"strings"
)

// tell prints the account, and says of each number who says so.
func (r *run) tell() {
	a, s := r.account, r.account.Queue
	r.print("\n" + r.bold("The account") + "\n")
	r.step("Jobs", "The queue counts %d accepted = %d finished + %d dead + %d not ended, and %d duplicates.",
		s.Accepted, s.Completed, s.Died, s.Live()+s.Cancelled+s.Deleted, s.Duplicates)
	r.step("Deliveries", "The queue counts %d = %d finished + %d failures + %d taken back as leases ran out%s.",
		s.Deliveries, s.Completed, s.Failures, s.Crashes, rest(s.Snoozes+s.Released+s.Active))
	sum := a.sum()
	r.step("Failures", "Outside, %d calls went wrong: %d met somebody busy, %d were declined (dead), %d got no answer, or it was not heard by a worker that was killed. Of %d the worker lived to tell the queue, which put off %d of them.",
		sum.wrong(), sum.Busy, sum.Refused, sum.Unheard, s.Failures+s.Snoozes, s.Snoozes)
	for _, k := range a.Kinds {
		r.kind(k)
	}
	r.tellTopic()
	held, events, again := 0, 0, 0
	for _, k := range a.Kills {
		held, events, again = held+len(k.In), events+k.Events, again+k.Again
	}
	r.step("Killed", "The %d workers held %d jobs, %d of them events; by the list of jobs, %d were delivered again.",
		len(a.Kills), held, events, again)
	for _, k := range a.Kills {
		r.step("", "%s, done when %s was killed, ended at attempt %d and is done once.", k.Job, k.Worker, k.Attempt)
	}
	if a.Right {
		r.step("Result", "Nothing lost, nothing done twice: all jobs ended, each finished one has its effect once, "+
			"and so has each event in each subscription that finished it.")
	}
	for _, c := range a.Complaints {
		r.step("WRONG", "%s", c)
	}
	if a.Kept != nil {
		r.tellKept(*a.Kept)
	}
}

func rest(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" + %d given back or put off", n)
}

// kind tells what jobs of one kind did.
func (r *run) kind(k KindAccount) {
	switch k.Kind {
	case sendMail.Name():
		r.step("Mails", "%d at the mail server by Message-ID; it was busy %d times, and dropped %d that came twice.",
			k.Keys, k.Busy, k.Repeats)
	case charge.Name():
		r.step("Payments", "%d charges for %d keys at the gateway. It was busy %d times, declined %d payments (dead), "+
			"and gave %d that came twice their first answer.", k.Effects, k.Keys, k.Busy, k.Dead, k.Repeats)
		l := r.account.Ledger
		r.step("", "%d deliveries, %d calls, %d bookings of %d payments: each is booked with the answer, in one transaction. "+
			"%d.%02d charged, %d.%02d booked. The queue counts %d effects, and %d that came twice and were suppressed.", k.Deliveries,
			l.Calls, l.Bookings, l.Payments, l.Charged/100, l.Charged%100, l.Cents/100, l.Cents%100, r.account.Queue.Effects,
			r.account.Queue.Suppressed)
	case thumbnail.Name():
		r.step("Thumbnails", "%d of %d on disk, whole. One that is made again replaces itself.", k.Keys, k.Sent)
	case scoreTable.Name():
		r.step("Scores", "%d results of %d rows are kept with their jobs, and equal those computed here.", k.Keys, rows)
	default:
		r.step("Webhooks", "%d at the receiver by webhook-id; it was busy %d times, and dropped %d that came twice.",
			k.Keys, k.Busy, k.Repeats)
	}
}

// tellKept says what is left, how to look at it and how to be rid of it.
func (r *run) tellKept(k Kept) {
	r.step("Kept", "Redis stays at %s. To look at it, and to be rid of it:", k.Redis)
	for _, command := range []string{
		word(r.Called) + " queue stats " + queueName + " --redis " + k.Redis,
		word(r.Called) + " job get " + queueName + " " + r.plan.held[1] + " --redis " + k.Redis,
		"ls " + word(r.stage.thumbnails()),
		fmt.Sprintf("kill %d; rm -r %s", k.PID, word(k.Dir)),
	} {
		r.print("  " + command + "\n") // in one piece, to be copied
	}
}

// word is a text as one word of a shell's command.
func word(s string) string {
	if strings.ContainsAny(s, " \t'\"$`\\&;|<>()*?[]#~!{}") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
