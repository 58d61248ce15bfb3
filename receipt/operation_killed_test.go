package receipt_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

// bank charges under a key: once where it knows keys, else each time it is asked.
type bank struct {
	dedupes bool
	mu      sync.Mutex
	charges []string
	bodies  map[string]bool
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	known := strings.Contains(strings.Join(b.charges, "\n"), key)
	switch {
	case r.Method == http.MethodGet && !known:
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method == http.MethodPost:
		body, _ := io.ReadAll(r.Body)
		b.bodies[string(body)] = true
		if !known || !b.dedupes {
			b.charges = append(b.charges, key)
		}
	}
	_, _ = io.WriteString(w, `{"Charge":"ch/`+key+`"}`)
}

// opChild is what a process that is to be killed is told.
type opChild struct {
	URL, Driver, DSN string
	Dialect          dialect.Dialect
	Declares, Dies   string
	Token            string
}

// die kills the process where it is to die.
func (c opChild) die(here string) {
	if c.Dies == here {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (c opChild) ask(ctx context.Context, method string, call call) (charged, error) {
	var got charged
	r, err := http.NewRequestWithContext(ctx, method, c.URL, strings.NewReader(string(call.Raw)))
	if err != nil {
		return got, err
	}
	r.Header.Set("Idempotency-Key", call.IdempotencyKey)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return got, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotFound {
		return got, receipt.NotFound()
	}
	return got, json.NewDecoder(res.Body).Decode(&got)
}

func (c opChild) operation() operation {
	o := operation{
		Request: charge{int(time.Now().UnixNano())}, // another one in each attempt
		Record:  add,
		Send: func(ctx context.Context, call call) (charged, error) {
			c.die("before the call")
			got, err := c.ask(ctx, http.MethodPost, call)
			c.die("before the answer is saved")
			return got, err
		},
	}
	switch c.Declares {
	case "key":
		o.KeyTTL = time.Hour
	case "lookup":
		o.Final = time.Minute
		o.Lookup = func(ctx context.Context, call call) (charged, error) { return c.ask(ctx, http.MethodGet, call) }
	}
	return o
}

// TestOperationChild is no test of its own: TestOperation_Killed runs it in a process that dies.
func TestOperationChild(t *testing.T) {
	told := os.Getenv("WAYBILL_TEST_OPERATION")
	if told == "" {
		t.Skip("run by TestOperation_Killed only")
	}
	var c opChild
	must(t, json.Unmarshal([]byte(told), &c))
	db, err := sql.Open(c.Driver, c.DSN)
	must(t, err)
	r, err := receipt.New(db, c.Dialect, receipt.Options{})
	must(t, err)
	_, err = c.operation().Do(t.Context(), r, attempt("job", c.Token))
	must(t, err)
	c.die("before the job is settled")
	t.Fatalf("it was to die %s", c.Dies)
}

// run runs the child, which must die of SIGKILL.
func (c opChild) run(t *testing.T) {
	t.Helper()
	told, err := json.Marshal(c)
	must(t, err)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOperationChild$")
	cmd.Env = append(os.Environ(), "WAYBILL_TEST_OPERATION="+string(told))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended by %v:\n%s", err, out)
	}
}

func TestOperation_Killed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	sqltest.Each(t, func(t *testing.T, d *sqltest.Database) {
		t.Parallel()
		if d.Driver == "sqlite3" {
			t.Skip("the other driver's SQLite is the same database")
		}
		for _, declares := range []string{"key", "lookup", "nothing"} {
			for _, dies := range []string{"before the call", "before the answer is saved", "before the job is settled"} {
				if declares != "key" && dies == "before the job is settled" {
					continue // declarations count only where there is no answer
				}
				t.Run(fmt.Sprintf("%s, with %s declared", dies, declares), func(t *testing.T) {
					db := *d
					killed(t, newKilledWorld(t, &db), declares, dies)
				})
			}
		}
	})
}

// newKilledWorld empties the tables of the test before.
func newKilledWorld(t *testing.T, d *sqltest.Database) *opWorld {
	t.Helper()
	db := d.Open(t)
	_, err := db.ExecContext(t.Context(), "DROP TABLE IF EXISTS account")
	must(t, err)
	w := newOpWorld(t, d, receipt.Options{})
	w.exec("DELETE FROM waybill_operation")
	return w
}

func killed(t *testing.T, w *opWorld, declares, dies string) {
	b := &bank{dedupes: declares == "key", bodies: map[string]bool{}}
	srv := httptest.NewServer(b)
	defer srv.Close()
	c := opChild{srv.URL, w.d.Driver, w.d.DSN, w.d.Dialect, declares, dies, "first"}
	c.run(t)
	w.age(2 * time.Minute) // beyond timeout and Final
	c.Dies = ""
	got, err := c.operation().Do(t.Context(), w.r, attempt("job", "second"))
	charges := 1
	switch {
	case declares == "nothing":
		wantEnd(t, err, receipt.ErrUnanswered, waybill.AttemptDead)
		w.wantState("job", receipt.StateUnknown)
		w.wantTotal(0)
		if dies == "before the call" {
			charges = 0
		}
	case err != nil || got.Value.Charge != "ch/payment/job":
		t.Errorf("the second attempt got %+v, %v", got, err)
	default:
		w.wantState("job", receipt.StateDone)
		w.wantTotal(10)
	}
	if len(b.charges) != charges || len(b.bodies) > 1 {
		t.Errorf("%d charges, %d bodies, want %d and at most 1", len(b.charges), len(b.bodies), charges)
	}
}
