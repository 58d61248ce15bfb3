package receipt

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/codec"
	"github.com/waybillhq/waybill/internal/record"
)

// Limits of a key, in bytes: as wide as the columns are. A job's ID has at most 128, a queue's name too.
const (
	maxScope       = 190 // in a column of 255, behind an installation of 64 and a colon
	maxID          = 512
	maxToken       = 128
	maxJob         = 128
	maxFingerprint = 32

	maxIdempotencyKey = 255
)

// Key names an effect. Make it with For, ForAttempt or, where no job is at hand, as a literal; nothing in it may come from
// the attempt but the token.
type Key struct {
	Scope       string    // queue, or topic/subscription: the same ID in two queues is two jobs; at most 190 bytes, no colon
	ID          string    // the job's ID, a space and the step where there are several; or a business key
	Fingerprint []byte    // of what is to be done, at most 32 bytes
	Token       string    // of the attempt: tells its own receipt from another's
	Born        time.Time // when the job became due first, by Redis's clock; receipts are purged by it
	Job         string    // the job's ID, for people
	// IdempotencyKey is what an Operation gives to the other side, at most 255 bytes; "" = the scope, a slash and the ID. That of
	// For is the attempt's own, KIND/ID/STEP.
	IdempotencyKey string

	attempt *waybill.Attempt // nil: nobody to count for
	err     error            // of a step, or of what was to be the fingerprint
}

// For is the key of a job's effect. A job with several effects names its steps: each has a receipt of its own, and a
// redelivery resumes at the first one that is missing. Several parts are joined by spaces, and have none themselves: "a", "b"
// is the step "a b".
func For[In any](job *waybill.Job[In], step ...string) Key { return ForAttempt(job.Attempt, step...) }

// ForAttempt is For where a handler knows no types. An attempt made by hand, in a test of a handler, needs no more than an ID:
// its queue is "default" then, and it is as old as it says, or new.
func ForAttempt(a *waybill.Attempt, step ...string) Key {
	sum := sha256.New()
	sum.Write([]byte(a.Kind))
	sum.Write([]byte{0})
	sum.Write(a.Payload)
	var err error
	for _, s := range step {
		if s == "" || len(step) > 1 && strings.Contains(s, " ") {
			err = invalid("step", "%q of job %s is empty, or has a space among several: it could be another step", s, a.ID)
		}
	}
	return Key{
		// A space stands in no ID: with a slash a job's step could be another job.
		err: err, Scope: cmp.Or(a.Scope, a.Queue, "default"), ID: strings.Join(append([]string{a.EffectID()}, step...), " "),
		Fingerprint: sum.Sum(nil), Token: cmp.Or(a.Token, handMade), Born: bornAt(a), Job: a.ID, IdempotencyKey: a.IdempotencyKey(step...), attempt: a,
	}
}

// Business is the key under a name of the user's own, as "invoice 17 paid", instead of the job's ID, so that two jobs can't
// both do it. What the work is said to be are the facts; two keys with other facts are a mismatch. Without facts it is the
// payload. After Purge such a name is free again: a second job is younger than the purge.
func (k Key) Business(name string, facts ...any) Key {
	k.ID, k.IdempotencyKey = name, ""
	if len(facts) == 0 {
		return k
	}
	sum := sha256.New()
	for _, fact := range facts {
		b, err := codec.Encode(fact)
		if err != nil {
			k.err = fmt.Errorf("facts of receipt %q: %w", name, err)
		}
		_, _ = fmt.Fprintf(sum, "%d:", len(b))
		sum.Write(b)
	}
	k.Fingerprint = sum.Sum(nil)
	return k
}

// idempotencyKey is what the other side gets.
func (k Key) idempotencyKey() string {
	if k.IdempotencyKey != "" {
		return k.IdempotencyKey
	}
	name := k.Scope + "/" + k.ID
	if len(name) > maxIdempotencyKey {
		sum := sha256.Sum256([]byte(name))
		return hex.EncodeToString(sum[:])
	}
	return name
}

// check says which limit the key breaks.
func (k Key) check() error {
	if k.err != nil {
		return k.err
	}
	if err := checkScope(k.Scope); err != nil {
		return err
	}
	for _, c := range []struct {
		field, value string
		most         int
	}{{"receipt id", k.ID, maxID}, {"token", k.Token, maxToken}, {"job", k.Job, maxJob}} {
		switch {
		case c.value == "" && c.field != "job":
			return invalid(c.field, "is empty: give 1 to %d bytes", c.most)
		case len(c.value) > c.most:
			return invalid(c.field, "is %d bytes long: at most %d", len(c.value), c.most)
		case !utf8.ValidString(c.value) || strings.ContainsRune(c.value, 0):
			return invalid(c.field, "%q is not UTF-8 without zero bytes", c.value)
		}
	}
	if n := len(k.IdempotencyKey); n > maxIdempotencyKey {
		return invalid("idempotency key", "is %d bytes long: at most %d", n, maxIdempotencyKey)
	}
	if n := len(k.Fingerprint); n == 0 || n > maxFingerprint {
		return invalid("fingerprint", "is %d bytes: 1 to %d", n, maxFingerprint)
	}
	if k.Born.IsZero() {
		return invalid("born", "is not set: receipts are purged by it")
	}
	return nil
}

// checkScope says which limit a scope breaks. A colon stands behind an installation: a scope that has one would be another
// installation's.
func checkScope(scope string) error {
	switch {
	case scope == "":
		return invalid("scope", "is empty: give 1 to %d bytes", maxScope)
	case len(scope) > maxScope:
		return invalid("scope", "is %d bytes long: at most %d", len(scope), maxScope)
	case !utf8.ValidString(scope) || strings.ContainsAny(scope, "\x00:"):
		return invalid("scope", "%q is not UTF-8 without colons and zero bytes", scope)
	}
	return nil
}

func invalid(field, format string, args ...any) error {
	return &record.InputError{Field: field, Why: fmt.Sprintf(format, args...)}
}

// horizonSlack: only jobs older than this are compared with the mark of what was purged, and Purge takes nothing younger
// than twice as much. It is the one place where a clock matters: Redis's and the database's must agree within 12 hours.
const horizonSlack = 12 * time.Hour

// old says whether receipts of the job's age may have been purged.
func (k Key) old(now time.Time) bool {
	if now.Sub(k.Born) > horizonSlack {
		return true
	}
	claimed := k.claimedAt()
	return claimed.IsZero() || claimed.Sub(k.Born) > horizonSlack
}
