package main

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill"
)

// waiting is how a command waits for the ends of jobs.
type waiting struct {
	client connection
	limit  time.Duration // for each job; 0 = none
}

// end waits for the end of a job. Result nil: it completed, and no result is kept.
func (w waiting) end(ctx context.Context, queue, id string) (result []byte, err error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if w.limit > 0 {
		limited, cancel = context.WithTimeout(ctx, w.limit)
	}
	defer cancel()
	result, err = w.client.Queue(queue).Wait(limited, id)
	switch {
	case err == nil, errors.Is(err, waybill.ErrNoResult):
		return result, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: job %s goes on", errInterrupted, id)
	case limited.Err() != nil:
		return nil, &waitOverError{queue, id, w.limit, errors.Is(err, waybill.ErrUnavailable)}
	}
	return nil, err
}

// errWaitOver: the job had not ended when the time to wait for it was over.
var errWaitOver = errors.New("the wait is over")

// waitOverError says which job had not ended. It unwraps to errWaitOver.
type waitOverError struct {
	queue, id string
	after     time.Duration
	blind     bool // Redis did not answer
}

func (e *waitOverError) Error() string {
	if e.blind {
		return fmt.Sprintf("Redis did not tell within %s that job %s in queue %s has ended", e.after, e.id, e.queue)
	}
	return fmt.Sprintf("job %s in queue %s has not ended within %s", e.id, e.queue, e.after)
}

func (e *waitOverError) Unwrap() error { return errWaitOver }

func waitOverHint(err error) string {
	if over, ok := errors.AsType[*waitOverError](err); ok {
		return fmt.Sprintf("it goes on; waybill job wait %s %s waits again", over.queue, over.id)
	}
	return "what runs goes on"
}

// ending is how a job ended, as a part of the object of a command that waits. State null: it has
// not ended, as far as is known.
type ending struct {
	State        *waybill.State `json:"state"`
	Result       *string        `json:"result"`
	ResultBase64 []byte         `json:"result_base64"`
}

// endingOf tells how a wait went.
func endingOf(result []byte, err error) ending {
	completed := waybill.StateCompleted
	if err != nil {
		if ended, ok := errors.AsType[*waybill.EndedError](err); ok {
			return ending{State: &ended.State}
		}
		return ending{}
	}
	if !utf8.Valid(result) {
		return ending{State: &completed, ResultBase64: result}
	}
	if result == nil {
		return ending{State: &completed}
	}
	text := string(result)
	return ending{State: &completed, Result: &text}
}

// waited is the object of a job that was waited for.
type waited struct {
	ID    string `json:"id"`
	Queue string `json:"queue"`
	ending
	Error   *string `json:"error"`
	Message *string `json:"message"`
}

// answerEnding is the object of a job that was sent and waited for.
type answerEnding struct {
	answer
	ending
}

// answerEnd is the object of a job that was taken, and then waited for.
func answerEnd(a answer, result []byte, err error) answerEnding {
	if err != nil {
		a.Error, a.Message = wordsOf(err)
	}
	return answerEnding{a, endingOf(result, err)}
}

// printEnd prints a job's result as it is, and what else there is to say on stderr.
func (a *app) printEnd(id string, result []byte) error {
	if result == nil {
		a.say("job %s completed; no result is kept", id)
		return nil
	}
	_, err := a.stdout.Write(result)
	return err
}
