package powercut_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
)

// tape is a run that was recorded.
type tape struct {
	grade string // appendfsync
	begun int64  // like all times here by history.Now
	ended int64
	lines []byte // the history, as the recorders wrote it
	jobs  map[name]*told
	calls []redistest.Call  // on the append-only file
	name  string            // of the append-only file, within the data directory
	log   []byte            // the append-only file
	files map[string][]byte // the other files of the data directory that a server reads
}

type name struct{ queue, id string }

// told is what the clients were told of one job, and when.
type told struct {
	hash     string
	accepted int64 // 0 = never
	began    []turn
	over     []turn
}

// times are when the clients were told anything of the job.
func (j *told) times() []int64 {
	all := []int64{j.accepted}
	for _, t := range slices.Concat(j.began, j.over) {
		all = append(all, t.at)
	}
	return all
}

// turn is the begin of an attempt, or its end.
type turn struct {
	number  int
	outcome string // of an end
	at      int64
}

// hear reads what the recorders of the run wrote.
func (p *tape) hear(lines []byte) error {
	p.lines, p.jobs = lines, map[name]*told{}
	for dec := json.NewDecoder(bytes.NewReader(lines)); dec.More(); {
		var e history.Event
		if err := dec.Decode(&e); err != nil {
			return err
		}
		of := name{e.Queue, e.Job}
		j := p.jobs[of]
		if j == nil {
			j = &told{}
			p.jobs[of] = j
		}
		switch {
		case e.Op == history.OpEnqueue:
			j.hash = e.Hash
			if e.Outcome == history.OK && (j.accepted == 0 || e.Done < j.accepted) {
				j.accepted = e.Done
			}
		case e.Op == history.OpAttempt:
			j.began = append(j.began, turn{number: e.Number, at: e.Done})
		case e.Op == history.OpEnd && e.Outcome == history.OK:
			j.over = append(j.over, turn{number: e.Number, outcome: e.Code, at: e.Done})
		}
	}
	return nil
}

// keep takes the data of a server that has ended.
func (p *tape) keep(t *testing.T, dir string) {
	t.Helper()
	p.files = map[string][]byte{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), "preload.") {
			return err
		}
		data, err := os.ReadFile(path)
		within, relErr := filepath.Rel(dir, path)
		if relErr != nil {
			return relErr
		}
		if strings.HasSuffix(within, ".aof") && !strings.Contains(within, ".base.") {
			p.name, p.log = within, data
			return err
		}
		p.files[within] = data
		return err
	}))
	if len(p.log) == 0 {
		t.Fatal("the server kept no append-only file")
	}
}

// fill lays a data directory out in which the append-only file is as given.
func (p *tape) fill(log []byte) func(dir string) error {
	return func(dir string) error {
		put := func(within string, data []byte) error {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, within)), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, within), data, 0o600)
		}
		for within, data := range p.files {
			if err := put(within, data); err != nil {
				return err
			}
		}
		return put(p.name, log)
	}
}

// durable is how long the file certainly was after a power cut at that time: its size at the begin of the last sync that
// had come back.
func (p *tape) durable(at int64) int64 {
	size := int64(0)
	for _, c := range p.calls {
		if c.Kind == redistest.CallSync && c.Done <= at {
			size = max(size, c.Size)
		}
	}
	return size
}

// written is how long the file may have been at that time, at most: what had been handed to the system.
func (p *tape) written(at int64) int64 {
	size := int64(0)
	for _, c := range p.calls {
		if c.Kind == redistest.CallWrite && c.Begun <= at {
			size = max(size, c.Size)
		}
	}
	return size
}

// holds is up to when everything that was told is within the first bytes of the file. A server answers a command only
// after the write that comes after it, or lets a write wait for a sync that takes long; so what was told before a write
// returned had been carried out before it began, and is in it.
func (p *tape) holds(size int64) int64 {
	at := p.begun
	for _, c := range p.calls {
		if c.Kind == redistest.CallWrite && c.Size <= size {
			at = max(at, c.Done)
		}
	}
	return at
}

// takesBack is how long before a cut the first thing may have been told that the disk did not have yet, at most. It says
// nothing of a server that syncs always, which answers after the sync: there a cut takes nothing back.
func (p *tape) takesBack(at int64) time.Duration {
	first, held := at, p.holds(p.durable(at))
	for _, j := range p.jobs {
		for _, told := range j.times() {
			if told > held {
				first = min(first, told)
			}
		}
	}
	return time.Duration(at - first)
}

// slowest is the longest sync of the run.
func (p *tape) slowest() time.Duration {
	longest := int64(0)
	for _, c := range p.calls {
		if c.Kind == redistest.CallSync {
			longest = max(longest, c.Done-c.Begun)
		}
	}
	return time.Duration(longest)
}
