package redistest

import "io"

// Frames reads what a server sends, frame by frame.
func Frames(r io.Reader) (next func() ([]byte, error)) { return newFrames(r).next }

// Requests reads what a client sends, frame by frame.
func Requests(r io.Reader) (next func() ([]byte, error)) { return newFrames(r).request }

// Words are the words of a request.
func Words(raw []byte) [][]byte { return words(raw) }
