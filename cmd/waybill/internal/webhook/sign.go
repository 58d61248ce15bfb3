package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// secretPrefix stands before a secret's base64, so that people know what it is.
const secretPrefix = "whsec_"

// Bounds of a secret in bytes, as in Standard Webhooks.
const (
	leastSecret = 24
	mostSecret  = 64
)

// ParseSecret reads a secret as Standard Webhooks spell it: whsec_ and base64 of 24 to 64 bytes.
func ParseSecret(text string) ([]byte, error) {
	text, ok := strings.CutPrefix(strings.TrimSpace(text), secretPrefix)
	secret, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(secret) < leastSecret || len(secret) > mostSecret {
		return nil, errors.New("want whsec_ and the base64 of 24 to 64 bytes") // never what it is
	}
	return secret, nil
}

// messageID is the webhook-id of a job: its idempotency key, which is the same for every attempt, as receivers that
// drop repeats need it. (An ID alone is unique in a queue only.) ID, time and body are joined by full stops to be
// signed; so it holds none.
func messageID(key string) string { return strings.ReplaceAll(headerValue(key), ".", "%2E") }

// sign gives the signature of a message.
func sign(secret []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
