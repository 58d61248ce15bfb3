package store_test

import (
	"testing"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// FuzzParseClaim reads replies of the claim script: it gives jobs that a settle can name, or an error, and never panics.
func FuzzParseClaim(f *testing.F) {
	f.Add("ok", int64(1), "5", "3e8F00000000001:id", "1 0 0 0", "record", false)
	f.Add("again", int64(-1), "", "3e8F00000000001:", "2 1 x 0", "", true)
	f.Fuzz(func(t *testing.T, word string, now int64, next, el, counts, rec string, short bool) {
		reply := []any{word, now, next, next, next, now, now, el, counts, rec}
		if short {
			reply = reply[:len(reply)-1]
		}
		got, err := store.ParseClaim(store.Claim{Worker: "w", Number: 1}, reply)
		if err == nil && (len(got.Jobs) != 1 || got.Jobs[0].ID == "" || string(got.Jobs[0].Record) != rec) {
			t.Errorf("%+v", got)
		}
	})
}

// FuzzParseGet reads what is kept of a job: run entry, error lines, cancel, progress and result, of other versions too.
func FuzzParseGet(f *testing.F) {
	good := "13e8F00000000001" + "00000000001" + string(record.Job{Kind: "k", Payload: []byte("p")}.Blob())
	f.Add(good, "2 1 0 0 2-w.1 retry 5 6", `{"attempt":1,"at":5,"type":"crash","message":"m","worker":"w"}`, "5 why", "5 40 note", "=r")
	f.Add(good, "", "", "", "", "!")
	f.Add(good, "1 0 0 0 - - 0 7 later fields", `{"attempt":1,"later":{}}`, " ", "x y", "")
	f.Add("2"+good[1:], "1", "{", "5", "5", "r")
	f.Fuzz(func(_ *testing.T, raw, run, lines, cancel, progress, result string) {
		i, _ := store.ParseGet(raw, run, lines, cancel, progress, result, "5")
		_ = i.Worker()
	})
}

// FuzzParseEnds reads what became of jobs.
func FuzzParseEnds(f *testing.F) {
	f.Add("completed", "=result", "0123456789ac1-w.1")
	f.Add("dead", `{"message":"m"}`, "0123456789ad-")
	f.Add("lives", "", "0123456789a")
	f.Fuzz(func(t *testing.T, word, detail, entry string) {
		e := store.ParseJobEnd(word, detail)
		if e.ResultDropped && e.Result != nil {
			t.Errorf("%+v: a result that was dropped", e)
		}
		_, _ = store.ParseWindow(entry)
		_ = store.ParseProgress(detail)
	})
}
