package receipt

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// OperationInfo is how an operation stands, for people.
type OperationInfo struct {
	Scope, ID      string
	Job            string
	State          State
	IdempotencyKey string
	Request        []byte
	Answer         []byte // nil: none
	Reason         string // of a refusal, or of what the last call has come to
	Calls          int
	Token          string    // of the attempt that called or answered last
	Born           time.Time // of the job, by Redis's clock; the others are the database's
	IntendedAt     time.Time
	CalledAt       time.Time // the last call
	AnsweredAt     time.Time // zero: there is no answer for good
}

// FindOperations gives the operations of a job and of its steps, or of a business key; at most 1,000. None is no error.
// Errors: ErrNoTable, else the database's.
func (r *Receipts) FindOperations(ctx context.Context, scope, id string) ([]OperationInfo, error) {
	return r.operations(ctx, scope, "op_find", r.scope(scope), id, id+" ", id+"!")
}

// Unfinished gives the operations of a scope that have no answer for good, those that wait for a person among them; at most
// 1,000, by ID. Errors: as FindOperations.
func (r *Receipts) Unfinished(ctx context.Context, scope string) ([]OperationInfo, error) {
	return r.operations(ctx, scope, "op_unfinished", r.scope(scope))
}

func (r *Receipts) operations(ctx context.Context, scope, statement string, args ...any) ([]OperationInfo, error) {
	rows, err := r.db.QueryContext(ctx, r.sql[statement], args...)
	if err != nil {
		return nil, fmt.Errorf("find operations in %s: %w", scope, r.missing(err))
	}
	defer func() { _ = rows.Close() }()
	var all []OperationInfo
	for rows.Next() {
		o, err := scanOperation(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("find operations in %s: %w", scope, err)
		}
		all = append(all, OperationInfo{
			Scope: scope, ID: o.id, Job: o.job, State: o.state, IdempotencyKey: o.idempotencyKey, Request: o.request, Answer: o.answer,
			Reason: o.reason, Calls: o.calls, Token: o.token, Born: o.born, IntendedAt: o.intended, CalledAt: o.called,
			AnsweredAt: o.answered,
		})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("find operations in %s: %w", scope, err)
	}
	return all, nil
}

// Resolution is what a person found out about an operation. Exactly one is set.
type Resolution struct {
	Done    json.RawMessage // it happened, with this result, as the operation's type has it
	Refused string          // it was refused, or is not to happen; why
	Again   string          // it did not happen, and may be called again; who says so
}

// Resolve settles an operation that waits for a person, or that has no answer for good for another reason; then requeue the
// dead job. With Done its next attempt makes the effect of Operation.Record, and gets the result. An answer of the other side
// stands: it can't be resolved away. That nothing has happened can't be said while a call may be under way: until the end of
// its timeout. Errors: ErrInvalid, ErrNotFound, ErrAnswered, ErrUnderWay, ErrNoTable, else the database's.
func (r *Receipts) Resolve(ctx context.Context, scope, id string, to Resolution) error {
	statement, args, err := to.change(r.scope(scope), id)
	if err != nil {
		return err
	}
	rows, err := r.step(ctx, statement, args...)
	if err != nil {
		return fmt.Errorf("resolve operation %q: %w", id, r.missing(err))
	}
	if rows != 0 {
		return nil
	}
	return r.unresolved(ctx, scope, id)
}

// change is the statement that does what a person says, and its arguments.
func (to Resolution) change(scope, id string) (statement string, args []any, err error) {
	switch {
	case to.Done != nil && to.Refused == "" && to.Again == "":
		if !json.Valid(to.Done) || len(to.Done) > MaxResult {
			return "", nil, invalid("done", "is %d bytes: JSON of at most %d", len(to.Done), MaxResult)
		}
		answered := string(StateAnswered)
		return "op_resolve", []any{answered, []byte(to.Done), "", byHand, scope, id, answered}, nil
	case to.Refused != "" && to.Done == nil && to.Again == "":
		refused := string(StateRefused)
		return "op_resolve", []any{refused, nil, clipped(to.Refused), byHand, scope, id, refused}, nil
	case to.Again != "" && to.Done == nil && to.Refused == "":
		return "op_again", []any{clipped(to.Again), byHand, scope, id}, nil
	}
	return "", nil, invalid("resolution", "has to be one of done, refused and again")
}

// unresolved says why an operation could not be resolved.
func (r *Receipts) unresolved(ctx context.Context, scope, id string) error {
	all, err := r.FindOperations(ctx, scope, id)
	if err != nil {
		return err
	}
	for _, o := range all {
		switch {
		case o.ID != id:
		case o.State.answered():
			return fmt.Errorf("resolve operation %q, which is %s: %w", id, o.State, ErrAnswered)
		default:
			return fmt.Errorf("resolve operation %q, last called at %s: %w", id, o.CalledAt.UTC().Format(time.RFC3339), ErrUnderWay)
		}
	}
	return fmt.Errorf("resolve operation %q: %w", id, ErrNotFound)
}

// byHand is the token of an answer that a person gave.
const byHand = "by hand"
