package codec_test

import (
	"encoding/json"
	"testing"

	"github.com/waybillhq/waybill/internal/codec"
)

type point struct{ X, Y int }

func TestCodec(t *testing.T) {
	t.Parallel()
	t.Run("a struct goes as JSON and comes back", func(t *testing.T) {
		b, err := codec.Encode(point{1, 2})
		if err != nil || string(b) != `{"X":1,"Y":2}` {
			t.Fatalf("%s, %v", b, err)
		}
		var p point
		if err := codec.Decode(b, &p); err != nil || p != (point{1, 2}) {
			t.Errorf("%+v, %v", p, err)
		}
	})
	t.Run("bytes go as they are and come back", func(t *testing.T) {
		raw := []byte("\x00{not json")
		for _, v := range []any{raw, json.RawMessage(raw)} {
			if b, err := codec.Encode(v); err != nil || string(b) != string(raw) {
				t.Errorf("%T: %q, %v", v, b, err)
			}
		}
		var b []byte
		var m json.RawMessage
		if err := codec.Decode(raw, &b); err != nil || string(b) != string(raw) {
			t.Errorf("%q, %v", b, err)
		}
		if err := codec.Decode(raw, &m); err != nil || string(m) != string(raw) {
			t.Errorf("%q, %v", m, err)
		}
	})
	t.Run("no bytes are zero arguments", func(t *testing.T) {
		p := point{3, 4}
		if err := codec.Decode(nil, &p); err != nil || p != (point{3, 4}) {
			t.Errorf("%+v, %v", p, err)
		}
	})
	t.Run("an empty struct takes anything", func(t *testing.T) {
		if err := codec.Decode([]byte("no json"), &struct{}{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("what is no JSON is an error", func(t *testing.T) {
		if err := codec.Decode([]byte("no json"), &point{}); err == nil {
			t.Error("no error")
		}
		if _, err := codec.Encode(make(chan int)); err == nil {
			t.Error("no error")
		}
	})
}
