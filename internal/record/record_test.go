package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/record"
)

// stored puts before a blob what the enqueue script puts there.
func stored(h record.Head, at time.Time, blob []byte) []byte {
	return append(fmt.Appendf(nil, "1%s%011x", h, at.UnixMilli()), blob...)
}

var names = rapid.StringMatching(`[A-Za-z0-9._-]{1,128}`)

func jobs(t *rapid.T) record.Job {
	j := record.Job{
		Kind:        names.Draw(t, "kind"),
		Payload:     rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload"),
		Named:       rapid.Bool().Draw(t, "named"),
		Outbox:      rapid.SampledFrom([]byte("-09azAZ")).Draw(t, "outbox"),
		Retention:   time.Duration(rapid.Int64Range(0, 1e10).Draw(t, "retention")) * time.Millisecond,
		MaxFailures: rapid.IntRange(-1, 1_000_000).Draw(t, "max failures"),
		Version:     rapid.IntRange(0, 1<<31-1).Draw(t, "version"),
	}
	if rapid.Bool().Draw(t, "absolute") {
		j.At = time.UnixMilli(rapid.Int64Range(1, 1e13).Draw(t, "at"))
	} else {
		j.Delay = time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "delay")) * time.Millisecond
	}
	if rapid.Bool().Draw(t, "has born") {
		j.Born = time.UnixMilli(rapid.Int64Range(-1e12, 1e13).Draw(t, "born"))
	}
	if rapid.Bool().Draw(t, "has scope") {
		j.Scope = rapid.StringMatching(`[A-Za-z0-9._/:-]{1,255}`).Draw(t, "scope")
	}
	if h := rapid.MapOfN(names, rapid.String(), 0, 4).Draw(t, "headers"); len(h) > 0 {
		j.Headers = h
	}
	return j
}

func heads(t *rapid.T) record.Head {
	return record.Head{
		Priority: rapid.IntRange(-record.MaxPriority, record.MaxPriority).Draw(t, "priority"),
		LIFO:     rapid.Bool().Draw(t, "lifo"),
		Seq:      rapid.Uint64Range(1, 1<<41).Draw(t, "seq"),
	}
}

func TestRecord_RoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, head := jobs(t), heads(t)
		at := time.UnixMilli(rapid.Int64Range(1, 1e13).Draw(t, "enqueued"))
		raw := stored(head, at, job.Blob())
		got, err := record.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if len(job.Payload) == 0 {
			job.Payload, got.Payload = nil, nil
		}
		want := record.Record{
			Job: job, Head: head, EnqueuedAt: at,
			Fingerprint: record.Fingerprint(job.Kind, job.Payload), Keep: string(job.Blob()[:13]),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("record (-want +got):\n%s", d)
		}
	})
}

func TestRecord_Positions(t *testing.T) {
	job := record.Job{Kind: "k", Payload: []byte("p"), Named: true, Outbox: 'B', Delay: time.Second, Retention: 255 * time.Millisecond}
	raw := string(stored(record.Head{Seq: 10}, time.UnixMilli(0x19ad), job.Blob()))
	fp := record.Fingerprint("k", []byte("p"))
	if want := "1" + "3e8F0000000000a" + "000000019ad" + "nB" + fp + "k d3e8 rff\n" + "\x00" + "p"; raw != want {
		t.Errorf("record\n got %q\nwant %q", raw, want)
	}
	if len(fp) != record.FingerprintLen {
		t.Errorf("fingerprint of %d bytes", len(fp))
	}
	if h, err := record.ParseHead("3e8f0000000000a"); err != nil || !h.Left || h.LIFO || h.Seq != 10 {
		t.Errorf("a lower-case order letter says that the job left: %+v, %v", h, err)
	}
}

func TestRecord_Born(t *testing.T) {
	enqueued := time.UnixMilli(1_000_000)
	for name, tc := range map[string]struct {
		job  record.Job
		want int64
	}{
		"is the time of enqueue":         {record.Job{}, 1_000_000},
		"is the due time of a delayed":   {record.Job{Delay: time.Second}, 1_001_000},
		"is the due time of an absolute": {record.Job{At: time.UnixMilli(2_000_000)}, 2_000_000},
		"is the enqueue of one long due": {record.Job{At: time.UnixMilli(5)}, 1_000_000},
		"is what was given":              {record.Job{Born: time.UnixMilli(7), Delay: time.Second}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			r := record.Record{Job: tc.job, EnqueuedAt: enqueued}
			if got := r.BornAt().UnixMilli(); got != tc.want {
				t.Errorf("born %d, want %d", got, tc.want)
			}
		})
	}
}

func TestRecord_Scope(t *testing.T) {
	job := record.Job{Kind: "k", Payload: []byte("p"), MaxFailures: 1}
	bare := string(job.Blob())
	job.Scope = "mail"
	field := "\x05\x04mail" // as docs/protocol.md has it
	if got, want := string(job.Blob()), strings.TrimSuffix(bare, "\x00p")+field+"\x00p"; got != want {
		t.Errorf("blob\n got %q\nwant %q", got, want)
	}
}

func TestRecord_OtherFormats(t *testing.T) {
	good := stored(record.Head{Seq: 1}, time.UnixMilli(1), record.Job{Kind: "k"}.Blob())
	newer := bytes.Clone(good)
	newer[0] = '2'
	if _, err := record.Parse(newer); !errors.Is(err, record.ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	for n := range len(good) - 1 {
		if _, err := record.Parse(good[:n]); !errors.Is(err, record.ErrDamaged) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	t.Run("an unknown field is skipped", func(t *testing.T) {
		for _, field := range []string{"\x63\x02xy", "\x63\x00", "\x63\x02\xc3\xa9", "\x06\x01\x80"} {
			raw := append(bytes.Clone(good[:len(good)-1]), field+"\x00p"...)
			r, err := record.Parse(raw)
			if err != nil || string(r.Payload) != "p" {
				t.Errorf("%q: %q, %v", field, r.Payload, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(stored(record.Head{Seq: 1}, time.UnixMilli(1), record.Job{Kind: "k", Headers: map[string]string{"a": "b"}}.Blob()))
	f.Add([]byte("1"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := record.Parse(raw)
		if err == nil && !bytes.HasSuffix(raw, r.Payload) {
			t.Errorf("payload %q is no part of the record", r.Payload)
		}
		if err != nil && !errors.Is(err, record.ErrDamaged) && !errors.Is(err, record.ErrNewer) {
			t.Errorf("error without sentinel: %v", err)
		}
	})
}

func TestElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head := heads(t)
		id := rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "id")
		h, got, err := record.SplitElement(head.Element(id))
		if err != nil || got != id || h != head.String() {
			t.Fatalf("%q %q %v", h, got, err)
		}
	})
	for _, bad := range []string{"", "3e8F00000000001", "3e8F00000000001:", "3e8F00000000001-x"} {
		if _, _, err := record.SplitElement(bad); !errors.Is(err, record.ErrDamaged) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	fp := record.Fingerprint
	first := fp("a", []byte("b"))
	if fp("a", []byte("b")) != first {
		t.Error("it is the same for the same work")
	}
	for name, other := range map[string]string{
		"another payload": fp("a", []byte("c")), "another kind": fp("b", []byte("b")),
		"the border moved": fp("ab", nil), "no payload": fp("a", nil),
	} {
		if other == first {
			t.Errorf("%s has the same fingerprint", name)
		}
	}
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	early, late := record.NewID(time.Unix(1_000_000_000, 0)), record.NewID(time.Unix(2_000_000_000, 0))
	if early >= late {
		t.Errorf("IDs sort by age: %s, %s", early, late)
	}
	for range 10_000 {
		id := record.NewID(time.Unix(1_700_000_000, 0))
		if seen[id] || len(id) != 19 || record.CheckID(id) != nil {
			t.Fatalf("ID %q", id)
		}
		seen[id] = true
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 129)
	for _, name := range []string{"", long, "a b", "a/b", "a:b", "{a}", "é"} {
		if err := record.CheckName("queue", name); !errors.Is(err, record.ErrInvalid) || !strings.HasPrefix(err.Error(), "queue") {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, scope := range []string{"", strings.Repeat("x", 256), "a b", "a\n", "{a}", "é"} {
		err := record.Job{Kind: "k", Scope: scope}.Check("id", 0)
		if scope == "" {
			err = record.CheckScope(scope) // in a job it says that there is none
		}
		if !errors.Is(err, record.ErrInvalid) || !strings.HasPrefix(err.Error(), "scope: ") {
			t.Errorf("scope %q: %v", scope, err)
		}
	}
	for _, scope := range []string{"mail", "orders/billing", "a:b", strings.Repeat("x", 255)} {
		if err := (record.Job{Kind: "k", Scope: scope}).Check("id", 0); err != nil {
			t.Errorf("scope %q: %v", scope, err)
		}
	}
	for _, id := range []string{"", long, "a b", "a\nb", "a\x00", "\xff", "a\u00a0b", "a\u200bb"} {
		if err := record.CheckID(id); !errors.Is(err, record.ErrInvalid) {
			t.Errorf("id %q: %v", id, err)
		}
	}
	for _, id := range []string{"x", "order-17/welcome", "a:b", "日本", strings.Repeat("x", 128)} {
		if err := record.CheckID(id); err != nil {
			t.Errorf("id %q: %v", id, err)
		}
	}
}
