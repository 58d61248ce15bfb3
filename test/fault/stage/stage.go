package stage

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/internal/store"
)

// Options of a stage; the zero value is a Redis that syncs every write, and no database.
type Options struct {
	Actor    string            // path of the built program
	Database *sqltest.Database // nil = handlers write nothing
	Grade    string            // of Redis: "always" (also ""), "everysec", "rdb"
	Loss     time.Duration     // what a death of Redis may cost, in time; 0 with "always"
	Seed     uint64
	Redis    []redistest.Option // besides
}

// Stage is one run. Its methods are for one goroutine, but for Until and what a Process has.
type Stage struct {
	testing.TB

	Options

	Server  *redistest.Server
	Client  *waybill.Client // straight to the server
	History *history.Recorder
	DB      *sql.DB // nil without a database

	direct  *redis.Client
	path    string
	digests map[string]string
	verbs   map[string]bool // of scripts
	file    *os.File
	made    int             // processes so far
	worked  map[string]bool // queues that had workers
}

// What histories are held to: ended jobs are known for as long as processes keep them, and a wait comes back in time, also on
// a busy machine.
const (
	window   = time.Hour
	waitTime = 2 * time.Minute
)

// digests are the same in all runs, and take long to make.
var digests = sync.OnceValue(store.Digests)

// patience is how long something may take that must come about. The machine may be busy.
const patience = 4 * time.Minute

// New sets a stage up.
func New(t testing.TB, o Options) *Stage {
	t.Helper()
	s := &Stage{TB: t, Options: o, digests: digests(), verbs: map[string]bool{}, worked: map[string]bool{}}
	for _, verb := range s.digests {
		s.verbs[verb] = true
	}
	if s.Grade == "" {
		s.Grade = "always"
	}
	s.Server = redistest.Start(t, append(grades(t, s.Grade), o.Redis...)...)
	s.direct = s.Server.Client()
	st, err := store.New(s.direct, store.Options{})
	s.Must(err)
	s.Must(st.Load(t.Context()))
	s.Client, err = waybill.NewClient(s.direct, waybill.ClientOptions{})
	s.Must(err)
	t.Cleanup(func() { _ = s.Client.Close() })
	s.path = filepath.Join(t.TempDir(), "history.jsonl")
	s.file, err = os.OpenFile(s.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	s.Must(err)
	t.Cleanup(func() { _ = s.file.Close() })
	s.History = history.New(s.file, "director")
	s.Client.Use(s.History.Enqueues)
	s.History.Write(history.Event{
		Op: history.OpRun, Seed: o.Seed, Note: t.Name(), Grade: s.Grade, LossMS: o.Loss.Milliseconds(),
		WindowMS: window.Milliseconds(), WaitMS: waitTime.Milliseconds(),
	})
	if o.Database != nil {
		s.openDatabase()
	}
	return s
}

func grades(t testing.TB, grade string) []redistest.Option {
	switch grade {
	case "always", "everysec":
		return []redistest.Option{redistest.AOF(), redistest.Config("appendfsync", grade)}
	case "rdb":
		return []redistest.Option{redistest.Config("save", "1", "1")}
	}
	t.Fatalf("grade %q is unknown", grade)
	return nil
}

// Direct is a client straight to the server.
func (s *Stage) Direct() *redis.Client { return s.direct }

// Must ends the run where there is an error.
func (s *Stage) Must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Until waits until something is so. Where that does not come about the run ends, and its history is held against the promises
// as it stands.
func (s *Stage) Until(what string, is func() bool) {
	s.Helper()
	d := s.patience()
	if s.Within(d, is) {
		return
	}
	s.Errorf("L1: not within %s: %s", d.Round(time.Second), what)
	s.Check()
	s.FailNow()
}

// toTell is how long before the end of a test's time a wait ends, so that it can say what did not come about.
const toTell = 10 * time.Second

// patience is how long this run waits for what must come about.
func (s *Stage) patience() time.Duration {
	if t, ok := s.TB.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := t.Deadline(); ok {
			return max(0, min(patience, time.Until(end)-toTell))
		}
	}
	return patience
}

// Within tells whether something is so before d has passed.
func (s *Stage) Within(d time.Duration, is func() bool) bool {
	ctx, stop := context.WithTimeout(s.Context(), d)
	defer stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Live is how many jobs of a queue have not ended; -1 where Redis does not answer.
func (s *Stage) Live(queue string) int64 {
	st, err := s.Client.Queue(queue).Stats(s.Context())
	if err != nil {
		return -1
	}
	return st.Live()
}

// Idle waits until all jobs of a queue have ended.
func (s *Stage) Idle(queue string) {
	s.Helper()
	s.Until("all jobs of "+queue+" have ended", func() bool { return s.Live(queue) == 0 })
}

// Check writes the account of the run into its history, and holds all of it against the promises. Where one was not kept the
// history stays, and its place is told.
func (s *Stage) Check() history.Report {
	s.Helper()
	s.ledger()
	read, err := os.Open(s.path)
	s.Must(err)
	defer read.Close()
	s.Must(s.History.Account(s.Context(), s.Client, read))
	s.purge()
	s.Must(s.History.Err())
	_, err = read.Seek(0, 0)
	s.Must(err)
	report, err := history.Check(read)
	s.Must(err)
	if !report.Clean() {
		s.Errorf("seed %d: promises were not kept; the history is %s", s.Seed, s.keep())
		for _, i := range report.Invariants {
			for _, v := range i.Violations {
				s.Errorf("%s: %s %s: %s", i.Name, v.Queue, v.Job, v.Text)
			}
		}
	}
	return report
}

// Needs fails the run where nothing was held against a promise that it is about.
func (s *Stage) Needs(r history.Report, promises ...string) {
	s.Helper()
	for _, name := range promises {
		if i := r.Invariant(name); i == nil || i.Looked == 0 {
			s.Errorf("nothing was held against %s", name)
		}
	}
}

// Refused is how often the server has answered with an error of a sort since it began, as "OOM"; 0 where it does not answer.
func (s *Stage) Refused(sort string) (n int64) {
	text, err := s.direct.Info(s.Context(), "errorstats").Result()
	if err != nil {
		return 0
	}
	_, count, _ := strings.Cut(text, "errorstat_"+sort+":count=")
	count, _, _ = strings.Cut(count, "\r")
	n, _ = strconv.ParseInt(count, 10, 64)
	return n
}

// keep copies the history to where it stays.
func (s *Stage) keep() string {
	text, err := os.ReadFile(s.path)
	if err == nil {
		name := filepath.Join(os.TempDir(), fmt.Sprintf("waybill-history-%d.jsonl", time.Now().UnixNano()))
		if err = os.WriteFile(name, text, 0o600); err == nil {
			return name
		}
	}
	return err.Error()
}
