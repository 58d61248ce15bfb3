package pgxoutbox

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/outbox"
)

// Pauses before a connection that broke is made again: doubling, jittered.
const (
	leastPause = 100 * time.Millisecond
	mostPause  = 10 * time.Second
)

// Listen kicks the relay of o, in this process, whenever a transaction commits whose outbox has Options.Notify, until ctx
// ends; then it returns nil. It keeps one connection of its own to url, which must lead to PostgreSQL itself: behind a proxy
// that pools by transactions nothing is heard. A connection that breaks is made again; meanwhile the relay polls, as it does
// anyway. told, if not nil, hears why. Errors: ErrInvalid where url can't be read.
func Listen(ctx context.Context, url string, o *outbox.Outbox, told func(error)) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("%w: url: it can't be read as one of PostgreSQL", outbox.ErrInvalid) // the cause may hold a password
	}
	for pause := leastPause; ctx.Err() == nil; pause = min(2*pause, mostPause) {
		heard, err := listen(ctx, config, o)
		if heard {
			pause = leastPause
		}
		if told != nil && ctx.Err() == nil {
			told(err)
		}
		t := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
	return nil
}

// listen listens on one connection until it breaks, and says whether it ever heard anything.
func listen(ctx context.Context, config *pgx.ConnConfig, o *outbox.Outbox) (heard bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, fmt.Errorf("connect to listen: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{o.Channel()}.Sanitize()); err != nil {
		return false, fmt.Errorf("listen: %w", err)
	}
	for {
		o.Kick() // also once for what came before
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return heard, fmt.Errorf("wait for a notification: %w", err)
		}
		heard = true
	}
}
