package webhook

import "time"

// Sign gives the signature of a message at a time in seconds since 1970.
func Sign(secret []byte, id string, at int64, body []byte) string {
	return sign(secret, id, time.Unix(at, 0), body)
}
