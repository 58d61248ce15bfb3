package record

import (
	"crypto/rand"
	"time"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// A generated ID: characters that tell the second it was made, and random ones.
const (
	idTime   = 6
	idRandom = 13
)

// NewID makes a job ID: 19 characters of base 62, of which the first six are the second
// (so IDs sort by age, to the second) and thirteen are random, 77 bits.
func NewID(now time.Time) string {
	id := make([]byte, idTime, idTime+idRandom)
	for i, s := idTime-1, now.Unix(); i >= 0; i, s = i-1, s/62 {
		id[i] = base62[s%62]
	}
	return string(appendRandom(id, idRandom))
}

// NewWorkerID makes the name of a worker process in a queue: 22 characters of base 62,
// 130 random bits, so that no other process ever holds its tokens.
func NewWorkerID() string { return string(appendRandom(nil, 22)) }

func appendRandom(b []byte, n int) []byte {
	var raw [16]byte
	for n > 0 {
		_, _ = rand.Read(raw[:]) // never fails: documented since Go 1.24
		for _, c := range raw {
			if c >= 248 { // 4 * 62: what is above would make some characters likelier
				continue
			}
			if b, n = append(b, base62[c%62]), n-1; n == 0 {
				break
			}
		}
	}
	return b
}
