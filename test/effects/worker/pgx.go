package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/receipt"
	"github.com/waybillhq/waybill/receipt/pgxreceipt"
	"github.com/waybillhq/waybill/test/effects"
	"github.com/waybillhq/waybill/test/internal/watched"
)

// openPgx gives the handler on pgx itself.
func openPgx(ctx context.Context, o effects.Orders, t *trap) (handler, error) {
	if o.Build != effects.Whole {
		return nil, fmt.Errorf("build %q is not made on pgx", o.Build)
	}
	config, err := pgxpool.ParseConfig(o.DSN)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.Tracer = tracer{t}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	r, err := pgxreceipt.New(pool, receipt.Options{})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, job *waybill.Job[effects.Args]) error {
		_, err := r.Do(ctx, receipt.For(job), func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, watched.InsertEffect+"(job, attempt, token) VALUES ($1, $2, $3)", job.ID, job.Number, job.Token)
			return err
		})
		return err
	}, nil
}

// tracer sees the statements of pgx, BEGIN and COMMIT among them.
type tracer struct{ trap *trap }

type statementKey struct{}

func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if data.SQL == "commit" {
		t.trap.reach(attemptOf(ctx), effects.Committing)
	}
	return context.WithValue(ctx, statementKey{}, data.SQL)
}

func (t tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	query, _ := ctx.Value(statementKey{}).(string)
	step := effects.Step(watched.StepOf(query))
	switch {
	case data.Err != nil:
		return
	case query == "commit":
		step = effects.Committed
	case strings.HasPrefix(query, "begin"):
		step = effects.Begun
	}
	if step != "" {
		t.trap.reach(attemptOf(ctx), step)
	}
}
