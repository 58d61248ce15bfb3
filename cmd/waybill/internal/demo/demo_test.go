package demo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/demo"
)

// TestMain lets this test binary be the workers too.
func TestMain(m *testing.M) {
	logging.Disable()
	if len(os.Args) > 1 && os.Args[1] == "demo-worker" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		a := os.Args[2:]
		err := demo.Work(ctx, demo.WorkerOptions{
			Name: a[0], Mail: a[1], Gateway: a[2], Model: a[3], Ledger: a[4], Confirm: a[5], Accounts: a[6], Redis: a[8],
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func TestRun_wrong(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	var out bytes.Buffer
	o := demo.Options{Binary: os.Args[0], Out: &out, Seed: 5}
	a, err := demo.RunChecked(t.Context(), o, func(right demo.Account) []string {
		for _, c := range right.Check() {
			t.Errorf("the account is wrong already: %s", c)
		}
		right.Queue.Completed--
		return right.Check()
	})
	if !errors.Is(err, demo.ErrWrong) || a.Right || !strings.Contains(err.Error(), "does not add up") {
		t.Errorf("error %v, right %v", err, a.Right)
	}
	if !strings.Contains(out.String(), "\nWRONG ") || strings.Contains(out.String(), "Nothing lost") {
		t.Errorf("the story says:\n%s", out.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// right is an account that adds up.
func right() demo.Account {
	return demo.Account{
		Queue: waybill.QueueStats{
			Accepted: 16, Duplicates: 36, Completed: 12, Died: 4, Dead: 4, Deliveries: 20, Failures: 6, Crashes: 2,
		},
		Kinds: []demo.KindAccount{
			{Kind: "a", Sent: 10, Finished: 10, Deliveries: 13, Effects: 10, Keys: 10, Busy: 2, Unheard: 2},
			{Kind: "payment.charge", Sent: 6, Finished: 2, Dead: 4, Deliveries: 7, Effects: 2, Keys: 2, Refused: 4},
		},
		Ledger: demo.Ledger{Bookings: 2, Payments: 2, Cents: 700, Charged: 700, Calls: 7},
		Topic: demo.TopicAccount{Sent: 5, Published: 5, Duplicates: 4, Subscriptions: []demo.SubscriptionAccount{
			{Subscription: "analytics", Finished: 5, Deliveries: 5, Effects: 5, Keys: 5, Queue: taken(5, 0, 0)},
			{Subscription: "billing", Finished: 3, Dead: 2, Deliveries: 6, Effects: 3, Keys: 3, Suppressed: 1, Queue: taken(3, 2, 1)},
			{Subscription: "mail", Finished: 5, Deliveries: 5, Effects: 5, Keys: 5, Queue: taken(5, 0, 0)},
		}},
		Kills: []demo.Kill{
			{Job: "orders/billing/c-1", Again: 1, Attempt: 2}, {Job: "a-1", Again: 1, Attempt: 2}, {Job: "b-1", Again: 1, Attempt: 2},
		},
	}
}

// taken are the counts of a subscription.
func taken(completed, dead, crashes int64) waybill.QueueStats {
	return waybill.QueueStats{
		Accepted: completed + dead, Completed: completed, Died: dead, Dead: dead, Deliveries: completed + dead + crashes,
		Failures: dead, Crashes: crashes,
	}
}

func TestAccount_complaints(t *testing.T) {
	t.Parallel()
	if got := right().Check(); len(got) > 0 {
		t.Fatalf("a right account: %q", got)
	}
	for name, wrong := range map[string]func(*demo.Account){
		"a job that did not end":             func(a *demo.Account) { a.Queue.Ready++; a.Queue.Accepted++ },
		"an accepted job too many":           func(a *demo.Account) { a.Queue.Accepted++ },
		"a duplicate that was taken":         func(a *demo.Account) { a.Queue.Duplicates-- },
		"a delivery without end":             func(a *demo.Account) { a.Queue.Deliveries++; a.Kinds[0].Deliveries++ },
		"a delivery that no job knows":       func(a *demo.Account) { a.Queue.Deliveries++; a.Queue.Snoozes++ },
		"a failure that nobody caused":       func(a *demo.Account) { a.Kinds[0].Busy, a.Kinds[0].Unheard = 0, 0 },
		"failures that the queue missed":     func(a *demo.Account) { a.Kinds[0].Busy += 3 },
		"a job lost":                         func(a *demo.Account) { a.Lost = []string{"a-1"} },
		"a job neither finished nor dead":    func(a *demo.Account) { a.Kinds[0].Finished--; a.Kinds[0].Keys--; a.Kinds[0].Effects-- },
		"a charge made twice":                func(a *demo.Account) { a.Kinds[0].Effects++ },
		"a mail that is not there":           func(a *demo.Account) { a.Kinds[0].Keys--; a.Kinds[0].Effects-- },
		"a charge for a dead job":            func(a *demo.Account) { a.Kinds[1].Stray++ },
		"a dead job that nobody refused":     func(a *demo.Account) { a.Kinds[1].Refused-- },
		"one dead too few":                   func(a *demo.Account) { a.Queue.Died--; a.Queue.Completed++ },
		"a payment booked twice":             func(a *demo.Account) { a.Ledger.Bookings++ },
		"a payment not booked":               func(a *demo.Account) { a.Ledger.Bookings--; a.Ledger.Payments-- },
		"another amount booked than charged": func(a *demo.Account) { a.Ledger.Cents++ },
		"a call that waits for a person":     func(a *demo.Account) { a.Ledger.Open++ },
		"a kill that did not happen":         func(a *demo.Account) { a.Kills = a.Kills[:2] },
		"a killed job not delivered again":   func(a *demo.Account) { a.Kills[1].Attempt = 1 },
		"killed jobs that nobody took back":  func(a *demo.Account) { a.Queue.Crashes, a.Queue.Released = 0, 2 },
		"no killed job delivered once again": func(a *demo.Account) { a.Kills[0].Again, a.Kills[1].Again = 0, 0 },

		"an event that was not published":      func(a *demo.Account) { a.Topic.Sent++ },
		"an event published twice":             func(a *demo.Account) { a.Topic.Duplicates-- },
		"a subscription that is not there":     func(a *demo.Account) { a.Topic.Subscriptions = a.Topic.Subscriptions[:2] },
		"an event not taken":                   func(a *demo.Account) { a.Topic.Subscriptions[0].Lag++ },
		"an event cut before it was taken":     func(a *demo.Account) { a.Topic.Subscriptions[0].Lost++ },
		"an event taken that nobody published": func(a *demo.Account) { a.Topic.Subscriptions[0].Queue.Accepted++ },
		"an event that did not end":            func(a *demo.Account) { a.Topic.Subscriptions[0].Queue.Ready++ },
		"an event neither finished nor dead": func(a *demo.Account) {
			a.Topic.Subscriptions[1].Finished--
			a.Topic.Subscriptions[1].Keys--
			a.Topic.Subscriptions[1].Effects--
		},
		"a dead letter in the wrong place": func(a *demo.Account) { a.Topic.Subscriptions[1].Subscription = "mail" },
		"a finished event not counted": func(a *demo.Account) {
			a.Topic.Subscriptions[2].Queue.Completed--
			a.Topic.Subscriptions[2].Queue.Failures++
		},
		"a dead event not counted": func(a *demo.Account) { a.Topic.Subscriptions[1].Queue.Died-- },
		"a delivery that no event knows": func(a *demo.Account) {
			a.Topic.Subscriptions[0].Queue.Deliveries++
			a.Topic.Subscriptions[0].Queue.Snoozes++
		},
		"an event's delivery without end": func(a *demo.Account) {
			a.Topic.Subscriptions[0].Queue.Deliveries++
			a.Topic.Subscriptions[0].Deliveries++
		},
		"an order billed twice":           func(a *demo.Account) { a.Topic.Subscriptions[1].Effects++ },
		"an order that finished unbilled": func(a *demo.Account) { a.Topic.Subscriptions[1].Effects--; a.Topic.Subscriptions[1].Keys-- },
		"an invoice for a dead letter":    func(a *demo.Account) { a.Topic.Subscriptions[1].Stray++ },
	} {
		a := right()
		wrong(&a)
		if len(a.Check()) == 0 {
			t.Errorf("%s: no complaint", name)
		}
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	ids, troubles, held := demo.Drawn(7)
	t.Run("the same seed draws the same", func(t *testing.T) {
		t.Parallel()
		again, _, heldAgain := demo.Drawn(7)
		if !slices.Equal(ids, again) || held != heldAgain {
			t.Error("it does not")
		}
		if other, _, _ := demo.Drawn(8); slices.Equal(ids, other) {
			t.Error("another seed draws the same")
		}
	})
	t.Run("each job has an ID of its own, the killed ones in the middle", func(t *testing.T) {
		t.Parallel()
		sorted := slices.Compact(slices.Sorted(slices.Values(ids)))
		if len(sorted) != 360 || troubles != 46 {
			t.Errorf("%d jobs, %d troubles", len(sorted), troubles)
		}
		if slices.Index(ids, held[0]) != 90 || slices.Index(ids, held[1]) != 216 {
			t.Errorf("the jobs %v are at %d and %d", held, slices.Index(ids, held[0]), slices.Index(ids, held[1]))
		}
	})
}

func TestStory(t *testing.T) {
	t.Parallel()
	t.Run("steps are wrapped to the width", func(t *testing.T) {
		t.Parallel()
		var out strings.Builder
		s := demo.NewStory(&out, false, 40, nil)
		s.Step("Work", "one two three four five six seven eight")
		s.Step("", "and-a-word-that-is-longer-than-a-line-of-40-columns on")
		want := "Work       one two three four five six\n           seven eight\n" +
			"           and-a-word-that-is-longer-than-a-line-of-40-columns\n           on\n"
		if out.String() != want {
			t.Errorf("it is\n%s", out.String())
		}
	})
	t.Run("progress fits on a line, however narrow", func(t *testing.T) {
		t.Parallel()
		const text = "12 of 360 ended, 3 ready"
		for width, want := range map[int]string{100: "           " + text, 30: text, 10: text[:9], 1: text[:1]} {
			var live, plain strings.Builder
			demo.NewStory(&live, true, width, nil).Progress(text)
			demo.NewStory(&plain, false, width, nil).Progress(text)
			if got := []string{live.String(), plain.String()}; !reflect.DeepEqual(got, []string{"\r\x1b[K" + want, want + "\n"}) {
				t.Errorf("width %d: %q", width, got)
			}
		}
	})
	t.Run("that nobody reads any more is told once", func(t *testing.T) {
		t.Parallel()
		r, w := io.Pipe()
		_ = r.Close()
		told := 0
		s := demo.NewStory(w, false, 80, func(error) { told++ })
		s.Step("Work", "one")
		s.Step("Work", "two")
		if told != 1 {
			t.Errorf("told %d times", told)
		}
	})
	t.Run("a path is one word of a command", func(t *testing.T) {
		t.Parallel()
		if got := []string{demo.Word("/tmp/a"), demo.Word("/tmp/it's here")}; !slices.Equal(got, []string{"/tmp/a", `'/tmp/it'\''s here'`}) {
			t.Errorf("%q", got)
		}
	})
}
