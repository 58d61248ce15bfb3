package pipe_test

import (
	"encoding/json"
	"testing"

	"github.com/waybillhq/waybill/cmd/waybill/internal/pipe"
)

// FuzzParseOutcome reads what children write.
func FuzzParseOutcome(f *testing.F) {
	for _, s := range []string{
		`{"type":"ready"}`, `{"type":"settle","token":"1-w.1","outcome":"ack","result":{"a":1}}`,
		`log {"type":"settle","token":"1-w.1","outcome":"retry","delay_ms":1e300}`, `{"type":"settle","token":"1-w.1","result":NaN}`,
		`{"type":"progress","token":"1-w.1","percent":-1e308}`, "\ufeff{\"type\":\"ready\"}",
	} {
		f.Add([]byte(s), "1-w.1")
	}
	f.Fuzz(func(t *testing.T, text []byte, token string) {
		ours, result, err := pipe.ParseOutcome(text, token)
		if ours && err == nil && result != nil && !json.Valid(result) {
			t.Errorf("result %q is no JSON", result)
		}
	})
}
