package linear_test

import (
	"math"
	"testing"

	"github.com/anishathalye/porcupine"
)

// told is an operation that was answered, alone at its time: its interval begins and ends at the server's clock.
func told(c call, r reply) porcupine.Operation {
	r.given = true
	return porcupine.Operation{Input: c, Output: r, Call: r.now * 1e6, Return: r.now*1e6 + 1}
}

// untold is one that was sent at a time, in ms, and has no answer.
func untold(c call, at int64) porcupine.Operation {
	return porcupine.Operation{Input: c, Output: reply{}, Call: at * 1e6, Return: math.MaxInt64}
}

func enqueued(at int64, word string) porcupine.Operation {
	return told(call{verb: "enqueue", print: "a"}, reply{now: at, word: word})
}

// claim is worker w's first claim, with a lease of 100 ms.
func claim(w string) call { return call{verb: "claim", worker: w, number: "1", lease: 100} }

// takes is a claim that took the job, for the nth time, after so many crashes.
func takes(w string, at int64, n, crashes int) porcupine.Operation {
	return told(claim(w), reply{now: at, word: "ok", took: true, token: token(w, n), attempts: n, crashes: crashes, at: at + 100})
}

func token(w string, n int) string { return string(rune('0'+n)) + "-" + w + ".1" }

func settled(token, end string, at int64, word string) porcupine.Operation {
	return told(call{verb: "settle", token: token, end: end, delay: 50}, reply{now: at, word: word})
}

func renewed(token string, at int64, word string) porcupine.Operation {
	return told(call{verb: "renew", token: token, lease: 100}, reply{now: at, word: word})
}

func asked(verb string, at int64, word string) porcupine.Operation {
	return told(call{verb: verb}, reply{now: at, word: word})
}

func seen(at int64, r reply) porcupine.Operation {
	r.now = at
	return told(call{verb: "get"}, r)
}

// histories are made by hand: each says whether one job can have gone through it.
var histories = []struct {
	fact  string
	legal bool
	of    []porcupine.Operation
}{
	{"a job is done once", true, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), settled(token("A", 1), "ack", 30, "done"), settled(token("A", 1), "ack", 40, "already"),
	}},
	{"a lease that ran out is taken back", true, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), takes("B", 120, 2, 1), settled(token("A", 1), "ack", 130, "stale"), settled(token("B", 2), "ack", 140, "done"),
	}},
	{"two hold a job before the deadline", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), takes("B", 119, 2, 1),
	}},
	{"a renewal moves the deadline", true, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), renewed(token("A", 1), 90, "held"), takes("B", 190, 2, 1),
	}},
	{"two hold a job before the deadline that a renewal told", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), renewed(token("A", 1), 90, "held"), takes("B", 150, 2, 1),
	}},
	{"a token that is not current ends the job", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), takes("B", 130, 2, 1), settled(token("A", 1), "ack", 140, "done"),
	}},
	{"a token that is not current renews", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), takes("B", 130, 2, 1), renewed(token("A", 1), 140, "held"),
	}},
	{"a lease is held though a claim must have taken it back", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), told(claim("B"), reply{now: 130, word: "ok"}), settled(token("A", 1), "ack", 140, "done"),
	}},
	{"a job that was done is claimed", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), settled(token("A", 1), "ack", 30, "done"), takes("B", 200, 2, 0),
	}},
	{"a job that was accepted is lost", false, []porcupine.Operation{
		enqueued(10, "accepted"), seen(20, reply{word: "gone"}),
	}},
	{"a job that was accepted is accepted again", false, []porcupine.Operation{
		enqueued(10, "accepted"), enqueued(20, "accepted"),
	}},
	{"a job is delivered that nobody sent", false, []porcupine.Operation{takes("A", 20, 1, 0)}},
	{"a retry is claimed before it is due", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), settled(token("A", 1), "snooze", 30, "done"), takes("B", 79, 2, 0),
	}},
	{"a retry is claimed when it is due", true, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), settled(token("A", 1), "snooze", 30, "done"), takes("B", 80, 2, 0),
	}},
	{"an attempt's number is given twice", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), settled(token("A", 1), "release", 30, "done"), takes("B", 40, 1, 0),
	}},
	{"an enqueue without an answer was carried out", true, []porcupine.Operation{
		untold(call{verb: "enqueue", print: "a"}, 10), takes("A", 20, 1, 0),
	}},
	{"an enqueue without an answer was not", true, []porcupine.Operation{
		untold(call{verb: "enqueue", print: "a"}, 10), seen(20, reply{word: "gone"}), enqueued(30, "accepted"),
	}},
	{"an enqueue without an answer was, and was not", false, []porcupine.Operation{
		untold(call{verb: "enqueue", print: "a"}, 10), takes("A", 20, 1, 0), enqueued(30, "accepted"),
	}},
	{"a claim without an answer took the job", true, []porcupine.Operation{
		enqueued(10, "accepted"), untold(claim("A"), 20), takes("B", 130, 2, 1),
	}},
	{"a claim without an answer took the job, and another at once", false, []porcupine.Operation{
		enqueued(10, "accepted"), untold(claim("A"), 20), takes("B", 60, 2, 1),
	}},
	{"an end without an answer was recorded", true, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), untold(call{verb: "settle", token: token("A", 1), end: "ack"}, 30), settled(token("A", 1), "ack", 40, "already"),
	}},
	{"an end is told as recorded that nobody sent", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), settled(token("A", 1), "ack", 40, "already"),
	}},
	{"a cancelled job is delivered", false, []porcupine.Operation{
		enqueued(10, "accepted"), asked("cancel", 20, "cancelled"), takes("A", 30, 1, 0),
	}},
	{"a deleted job is delivered", false, []porcupine.Operation{
		enqueued(10, "accepted"), asked("delete", 20, "deleted"), takes("A", 30, 1, 0),
	}},
	{"an asked cancel is forgotten at a release", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), asked("cancel", 30, "requested"), settled(token("A", 1), "release", 40, "done"),
	}},
	{"a dead job is requeued once", false, []porcupine.Operation{
		enqueued(10, "accepted"), takes("A", 20, 1, 0), settled(token("A", 1), "dead", 30, "done"), asked("requeue", 40, "requeued"), asked("requeue", 50, "requeued"),
	}},
	{"the server's clock goes back", false, []porcupine.Operation{
		enqueued(10, "accepted"), told(claim("B"), reply{now: 5, word: "ok"}),
	}},
}

func TestModel(t *testing.T) {
	t.Parallel()
	for _, h := range histories {
		t.Run(h.fact, func(t *testing.T) {
			t.Parallel()
			for i := range h.of { // in the order in which they are listed, whatever their clocks say
				if h.of[i].Return != math.MaxInt64 {
					h.of[i].Return = int64(i+1)*1000 + 1
				}
				h.of[i].Call = int64(i+1) * 1000
			}
			if got := porcupine.CheckOperations(model, h.of); got != h.legal {
				t.Errorf("linearizable: %v, want %v\n%s", got, h.legal, history(h.of))
			}
		})
	}
}
