package linear_test

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// tape takes down the frames of a round. It is safe for concurrent use.
type tape struct {
	start time.Time

	mu     sync.Mutex
	frames []*frame
}

func (t *tape) now() int64 { return time.Since(t.start).Nanoseconds() }

// begin takes down a frame that is about to be sent: without an answer, until one comes.
func (t *tape) begin(f frame) *frame {
	f.begun, f.done = t.now(), math.MaxInt64
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, &f)
	return &f
}

// answer takes down what came back.
func (t *tape) answer(f *frame, values []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.done, f.answer = t.now(), values
}

// told takes down a frame with its answer.
func (t *tape) told(f frame, begun int64, values []string) {
	f.begun, f.done, f.answer = begun, t.now(), values
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, &f)
}

// strike takes out a frame with which nothing was done.
func (t *tape) strike(f *frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = slices.DeleteFunc(t.frames, func(g *frame) bool { return f == g })
}

// stop gives what has been taken down until now.
func (t *tape) stop() frames {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(frames, len(t.frames))
	for i, f := range t.frames {
		out[i] = *f
	}
	return out
}

// frames are those of a round.
type frames []frame

// count is how many frames are about a job.
func (t *tape) count(id string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, f := range t.frames {
		if f.verb == "claim" || f.job() == id {
			n++
		}
	}
	return n
}

// jobs are all that frames are about.
func (fs frames) jobs() []string {
	var out []string
	for _, f := range fs {
		if f.verb != "claim" {
			out = append(out, f.job())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// claimed is what is known of the frames of one claim: a worker's number.
type claimed struct {
	first int64  // when it was sent first
	done  int64  // when it was answered first; 0 = never
	word  string // of that answer
}

// claims gathers what is known of each claim, by worker and number.
func (fs frames) claims() map[string]*claimed {
	out := map[string]*claimed{}
	for _, f := range fs {
		if f.verb != "claim" {
			continue
		}
		name := f.args[0] + "." + f.args[1]
		c := out[name]
		if c == nil {
			c = &claimed{first: f.begun}
			out[name] = c
		}
		c.first = min(c.first, f.begun)
		if f.answer != nil && (c.done == 0 || f.done < c.done) {
			c.done, c.word = f.done, f.answer[0]
		}
	}
	return out
}

// span is when a job was first sent, and when a frame was last about it.
func (fs frames) span(id string) (born, last int64) {
	born = math.MaxInt64
	for _, f := range fs {
		switch {
		case f.verb == "claim" && !f.reply(id).took, f.verb != "claim" && f.job() != id:
			continue
		case f.verb == "enqueue":
			born = min(born, f.begun)
		}
		if f.answer != nil {
			last = max(last, f.done)
		}
		last = max(last, f.begun)
	}
	return born, last
}

// operations are those of a job. Of a claim's frames only one can have been carried out as more than a repeat. Where the
// first answer is "ok" it was that one, and those without an answer did nothing. Where it is "again" it was one without an
// answer, before that answer came. Else it was any of them, or none. So what has no answer is one operation at most.
// Claims before the job was first sent can't be about it, and after the last word of it they are left out.
func (fs frames) operations(id string) []porcupine.Operation {
	claims, seen := fs.claims(), map[string]bool{}
	born, last := fs.span(id)
	var out []porcupine.Operation
	for _, f := range fs {
		if f.verb != "claim" && f.job() != id || f.verb == "claim" && (f.done < born || f.begun > last) || f.verb == "get" && f.answer == nil {
			continue
		}
		o := porcupine.Operation{ClientId: f.client, Input: f.call(), Call: f.begun, Output: f.reply(id), Return: f.done}
		if f.verb == "claim" && f.answer == nil {
			name := f.args[0] + "." + f.args[1]
			c := claims[name]
			if seen[name] || c.word == "ok" {
				continue
			}
			seen[name] = true
			o.Call = c.first
			if c.word == "again" {
				o.Return = c.done
			}
		}
		out = append(out, o)
	}
	return out
}
