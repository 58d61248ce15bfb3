package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/history"
	"github.com/waybillhq/waybill/internal/redistest"
)

// BenchmarkCheck reads the history of 200,000 jobs with receipts.
func BenchmarkCheck(b *testing.B) {
	var lines bytes.Buffer
	w := json.NewEncoder(&lines)
	for i := range int64(200_000) {
		id := fmt.Sprintf("job-%d", i)
		receipts := tape{line(history.OpEffect, 0, id), line(history.OpReceipt, 0, id)}
		for _, e := range append(whole(id), receipts...) {
			e.Process, e.AtMS = "worker-1", 1_700_000_000_000+i
			if err := w.Encode(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(int64(lines.Len()))
	b.ReportAllocs()
	for b.Loop() {
		r, err := history.Check(bytes.NewReader(lines.Bytes()))
		if err != nil || !r.Clean() || r.Jobs != 200_000 {
			b.Fatal(r.Jobs, err)
		}
	}
}

// BenchmarkRecorder_Account asks for 200,000 jobs, of which half stand in the queue.
func BenchmarkRecorder_Account(b *testing.B) {
	c, err := waybill.NewClient(redistest.Start(b).Client(), waybill.ClientOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var lines bytes.Buffer
	w := json.NewEncoder(&lines)
	for from := 0; from < 200_000; from += 1000 {
		var requests []waybill.Request
		for i := from; i < from+1000; i++ {
			id := fmt.Sprintf("job-%d", i)
			requests = append(requests, sums.Request(i, waybill.ID(id)))
			if err := w.Encode(enqueue(1, id, in("sums"))); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.EnqueueMany(b.Context(), requests[:500]); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := history.New(io.Discard, "bench").Account(b.Context(), c, bytes.NewReader(lines.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
