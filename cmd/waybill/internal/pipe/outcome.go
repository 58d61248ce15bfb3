package pipe

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/runner"
)

// Outcomes of a settle.
const (
	outcomeAck    = "ack"
	outcomeRetry  = "retry"
	outcomeSnooze = "snooze"
	outcomeDead   = "dead"
	outcomeCancel = "cancel"
)

// release gives a job back that no child can do, or not now: it is no failure of the job.
func release(err error) error { return &runner.Steer{End: runner.Release, Err: err} }

// outcome turns a settle into the end of an attempt. What is wrong with it is a failure of the job.
func (m message) outcome(snooze time.Duration) ([]byte, error) {
	delay, err := m.delay(snooze)
	if err := cmp.Or(m.bad, err, m.checkEffects()); err != nil {
		return nil, err
	}
	said := errors.New(m.Error)
	if m.Error == "" {
		said = errors.New("settled as " + m.Outcome + ", without an error text")
	}
	switch m.Outcome {
	case outcomeAck:
		return m.result(), nil
	case outcomeRetry:
		if m.DelayMS == nil {
			return nil, said
		}
		return nil, waybill.RetryAfter(delay, said)
	case outcomeSnooze:
		return nil, waybill.Snooze(delay)
	case outcomeDead:
		return nil, waybill.Dead(said)
	case outcomeCancel:
		return nil, waybill.Cancel(m.Error)
	}
	return nil, fmt.Errorf("settle: outcome is %.40q: want ack, retry, snooze, dead or cancel", m.Outcome)
}

// delay is the one that was asked for, or else.
func (m message) delay(otherwise time.Duration) (time.Duration, error) {
	if m.DelayMS == nil {
		return otherwise, nil
	}
	if ms := *m.DelayMS; ms < 0 || ms > float64(record.MaxDelay.Milliseconds()) {
		return 0, fmt.Errorf("settle: delay_ms is %.0f: from 0 to %d", ms, record.MaxDelay.Milliseconds())
	}
	return time.Duration(*m.DelayMS * float64(time.Millisecond)), nil
}
