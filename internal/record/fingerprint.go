package record

import (
	"crypto/sha256"
	"encoding/base64"
)

// FingerprintLen is the length of a fingerprint in bytes.
const FingerprintLen = 11

// Fingerprint tells whether two jobs of one ID ask for the same work: the first 64 bits of
// SHA-256 over kind, a zero byte and payload, in base64url. It is compared only between
// jobs of one ID, so two payloads collide by chance once in 2^64 such pairs.
func Fingerprint(kind string, payload []byte) string {
	return string(appendFingerprint(nil, kind, payload))
}

func appendFingerprint(b []byte, kind string, payload []byte) []byte {
	var small [1024]byte // what fits is put together without the heap
	text := append(append(append(small[:0], kind...), 0), payload...)
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.AppendEncode(b, sum[:8])
}
