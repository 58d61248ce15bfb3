package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/waybillhq/waybill/internal/record"
)

// payload reads the payload that an argument stands for.
func (a *app) payload(arg string) ([]byte, error) {
	path, isFile := strings.CutPrefix(arg, "@")
	switch {
	case arg == "-":
		return readPayload(a.stdin)
	case isFile:
		f, err := os.Open(path)
		if err != nil {
			return nil, &usageError{fmt.Sprintf("payload: %v", err)}
		}
		defer f.Close()
		return readPayload(f)
	}
	return []byte(arg), nil
}

// readPayload reads no more than any limit allows; beyond it only counts.
func readPayload(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	_, err := io.Copy(&b, io.LimitReader(r, record.HardPayload))
	var more int64
	if err == nil {
		more, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	if more > 0 {
		return nil, tooLong(int64(b.Len()) + more)
	}
	return b.Bytes(), nil
}

func tooLong(size int64) error {
	return &record.InputError{
		Field: "payload", Why: fmt.Sprintf("is %d bytes: at most %d", size, record.MaxPayload),
	}
}
