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
	h := sha256.New()
	h.Write([]byte(kind))
	h.Write([]byte{0})
	h.Write(payload)
	return base64.RawURLEncoding.EncodeToString(h.Sum(make([]byte, 0, sha256.Size))[:8])
}
