package runner

import (
	"log/slog"
	"time"
)

// Keys of log attributes: the same words as in JSON.
const (
	keyQueue    = "queue"
	keyWorker   = "worker"
	keyJob      = "job"
	keyJobs     = "jobs"
	keyKind     = "kind"
	keyAttempt  = "attempt"
	keyEnd      = "end"
	keyAnswer   = "answer"
	keyCall     = "call"
	keyTries    = "tries"
	keyCrashes  = "crashes"
	keyDuration = "took"
	keyError    = "error"
	keyAway     = "away"
	keyDelay    = "delay"
	keyOver     = "over"
)

func errorAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.String(keyError, err.Error())
}

// attrs are the attributes of a line about one attempt.
func (a *Attempt) attrs(more ...slog.Attr) []any {
	out := []any{
		slog.String(keyJob, a.ID), slog.String(keyKind, a.Rec.Kind), slog.Int(keyAttempt, a.Delivery.Attempt),
	}
	for _, m := range more {
		out = append(out, m)
	}
	return out
}

func endAttr(e End) slog.Attr { return slog.String(keyEnd, string(e)) }

func tookAttr(d time.Duration) slog.Attr { return slog.Duration(keyDuration, d) }
