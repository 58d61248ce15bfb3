package codec_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/waybillhq/waybill/internal/codec"
)

// FuzzDecode reads stored arguments: what decodes, encodes to what decodes to the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a":[1,null,"x"]}`))
	f.Add([]byte(nil))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var bare []byte
		if err := codec.Decode(raw, &bare); err != nil || !bytes.Equal(bare, raw) {
			t.Errorf("bytes %q come as %q: %v", raw, bare, err)
		}
		var v any
		if codec.Decode(raw, &v) != nil {
			return
		}
		b, err := codec.Encode(v)
		if err != nil || !json.Valid(b) {
			t.Errorf("%q encodes to %q: %v", raw, b, err)
		}
	})
}
