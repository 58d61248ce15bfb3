// Package codec turns arguments and results into the bytes that are stored, and back: JSON, but bytes as they are.
// It is used by both sides and by tests, so that all agree.
package codec

import "encoding/json"

// Encode gives the bytes of arguments or of a result: []byte and json.RawMessage as they are, all else as JSON.
// Errors are those of json.Marshal.
func Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	return json.Marshal(v)
}

// Decode fills *v from bytes that Encode gave: *[]byte and *json.RawMessage get them as they are. No bytes at all leave
// v as it is: zero arguments. A *struct{} takes anything. Errors are those of json.Unmarshal.
func Decode(b []byte, v any) error {
	switch v := v.(type) {
	case *[]byte:
		*v = b
		return nil
	case *json.RawMessage:
		*v = b
		return nil
	case *struct{}:
		return nil
	}
	if len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, v)
}
