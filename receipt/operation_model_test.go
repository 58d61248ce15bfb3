package receipt_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// declarations are those of an operation, and the time within which its calls reach the other side, from when they were noted.
func declarations() map[string]struct {
	o       operation
	reaches time.Duration
} {
	return map[string]struct {
		o       operation
		reaches time.Duration
	}{
		"key":            {operation{KeyTTL: time.Hour}, modelTimeout},
		"lookup":         {operation{Final: time.Minute, Lookup: says(nil)}, modelTimeout + time.Minute},
		"key and lookup": {operation{KeyTTL: time.Hour, Final: time.Minute, Lookup: says(nil)}, modelTimeout},
		"neither":        {operation{}, 1000 * time.Hour},
	}
}

const modelTimeout = 30 * time.Second

// Attempts that overlap in every way, time that passes and people that resolve, against another side that keeps to what is
// declared of it: it does the thing once, Record's effect is there with the answer, and every job ends. WAYBILL_OPERATIONS
// says how many histories are played.
func TestOperation_Model(t *testing.T) {
	t.Parallel()
	histories := 150
	if n, err := strconv.Atoi(os.Getenv("WAYBILL_OPERATIONS")); err == nil {
		histories = n
	}
	for name, declared := range declarations() {
		t.Run("done once, with "+name+" declared", func(t *testing.T) {
			t.Parallel()
			w := newOpWorld(t, sqltest.SQLite(t), receipt.Options{})
			w.db.SetMaxOpenConns(1)
			w.exec("PRAGMA synchronous = OFF")
			first := rand.Uint64()
			for i := range histories {
				seed := first + uint64(i)
				h := &history{w: w, rng: rand.New(rand.NewPCG(seed, 0)), o: declared.o, reaches: declared.reaches, id: fmt.Sprint(seed)}
				h.play()
				if t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, strings.Join(h.trace, "\n"))
				}
			}
		})
	}
}

// play is one job's history, from its first attempt to its end.
func (h *history) play() {
	h.w.exec("DELETE FROM waybill_operation")
	h.w.exec("UPDATE account SET total = 0")
	h.o.Record = add
	h.begin()
	for range 4 + h.rng.IntN(12) {
		h.step()
		h.check()
	}
	for len(h.actors) > 0 {
		h.answer(h.actors[0])
		h.check()
	}
	for range 8 {
		if h.over {
			return
		}
		h.pass(2 * time.Hour)
		h.settleUnknown()
		h.begin()
		for len(h.actors) > 0 {
			h.found(h.actors[0])
		}
		h.check()
	}
	h.w.t.Error("the job never ends")
}

func (h *history) step() {
	switch n := h.rng.IntN(10); {
	case n < 3 && len(h.actors) < 3:
		h.begin()
	case n < 5:
		h.pass([]time.Duration{time.Second, 31 * time.Second, 2 * time.Minute, 50 * time.Minute}[h.rng.IntN(4)])
	case n == 5:
		h.resolve()
	case len(h.actors) > 0:
		a := h.actors[h.rng.IntN(len(h.actors))]
		if f := a.ask.call; f != nil && h.rng.IntN(2) == 0 {
			h.say("the call of %s arrives", a.name)
			h.arrive(f)
			return
		}
		h.answer(a)
	}
}

// pass lets time pass, by the database's clock. What was not there by then never comes.
func (h *history) pass(d time.Duration) {
	h.say("%s pass", d)
	h.w.age(d)
	h.now += d
}

// resolve is a person who looks at the other side, and says what is to be seen there.
func (h *history) resolve() {
	to := receipt.Resolution{Again: "nothing there"}
	switch {
	case h.done > 0:
		to = receipt.Resolution{Done: []byte(`{"Charge":"ch"}`)}
	case h.rng.IntN(3) == 0:
		to = receipt.Resolution{Refused: "nothing there, and is not to be"}
	}
	err := h.w.r.Resolve(h.w.t.Context(), "q", h.id, to)
	h.say("a person says %+v: %v", to, err)
	if err == nil && to.Done == nil {
		h.pending, h.refused = false, h.refused || to.Refused != ""
		for _, f := range h.calls { // what people know of is over
			f.never = f.never || h.now >= f.at+modelTimeout
		}
	}
}

// settleUnknown is a person who is asked.
func (h *history) settleUnknown() {
	if h.w.state(h.id).State == receipt.StateUnknown {
		h.resolve()
	}
}

// check compares what is saved with what has happened.
func (h *history) check() {
	if h.done > 1 {
		h.w.t.Errorf("it was done %d times", h.done)
	}
	o, total := h.w.state(h.id), 0
	h.say("  %s", o.State)
	if o.State == receipt.StateDone {
		total = 10
	}
	h.w.wantTotal(total)
	if o.State == receipt.StateRefused && h.done > 0 {
		h.w.t.Error("refused, and it was done")
	}
	if o.State == receipt.StateRefused && !h.refused {
		h.w.t.Errorf("refused, and nobody has refused: %s", o.Reason)
	}
	if h.last.State != "" && (h.last.State != o.State || string(h.last.Answer) != string(o.Answer)) {
		h.w.t.Errorf("%s became %s", h.last.State, o.State)
	}
	if o.State == receipt.StateDone || o.State == receipt.StateRefused {
		h.last = o
	}
}

// ended is what an attempt has come to.
func (h *history) ended(err error) {
	end, _ := waybill.Steers(err)
	state := h.w.state(h.id).State
	switch {
	case err == nil && state != receipt.StateDone:
		h.w.t.Errorf("an attempt was told that it is done, and it is %s", state)
	case errors.Is(err, receipt.ErrPending):
		h.pending = state == receipt.StatePending || h.pending
		if state == receipt.StateIntended || state == receipt.StateBusy {
			h.w.t.Errorf("it is pending, and saved as %s", state)
		}
	case end == waybill.AttemptDead && state != receipt.StateUnknown && !errors.Is(err, receipt.ErrRefused):
		h.w.t.Errorf("dead as %s: %v", state, err)
	}
	h.over = h.over || err == nil || errors.Is(err, receipt.ErrRefused)
}
