package extent

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/waybillhq/waybill/history"
)

// SumEnv names a file to which each tier adds a line of what it counted, as JSON; empty = none does.
const SumEnv = "WAYBILL_FAULTS_SUM"

// Sum is what a tier counted.
type Sum struct {
	Tier    string  `json:"tier"`
	Seed    uint64  `json:"seed"`
	Seconds float64 `json:"seconds"`
	// Faults are those that fired where they were to, with work in flight; Kills those of them that ended a process with SIGKILL.
	Faults int64 `json:"faults"`
	Kills  int64 `json:"kills"`

	Jobs       int64 `json:"jobs"`
	Deliveries int64 `json:"deliveries"`
	Effects    int64 `json:"effects"`
	Lost       int64 `json:"lost"`
	Forgotten  int64 `json:"forgotten"` // lost as the durability table allows
	Doubled    int64 `json:"doubled"`
}

// Add adds what a history shows.
func (s *Sum) Add(r history.Report) {
	for _, n := range r.Faults {
		s.Faults += n
	}
	s.Kills += r.Kills
	s.Jobs, s.Deliveries, s.Effects = s.Jobs+r.Jobs, s.Deliveries+r.Deliveries, s.Effects+r.Effects
	s.Lost, s.Forgotten, s.Doubled = s.Lost+r.Lost, s.Forgotten+r.Forgotten, s.Doubled+r.Doubled
}

// Write adds the line to the file of the environment, where there is one.
func (s Sum) Write(t testing.TB, began time.Time) {
	t.Helper()
	name := os.Getenv(SumEnv)
	if name == "" {
		return
	}
	s.Seconds = time.Since(began).Seconds()
	line, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}
