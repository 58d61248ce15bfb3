package outbox

import (
	"context"
	"fmt"
)

// maxChannel bounds the name of a channel in PostgreSQL, in bytes. Source: its NAMEDATALEN, 64 with the end.
const maxChannel = 63

func channelOf(tables string) string { return tables + "outbox" }

// Channel is the name of the channel that Options.Notify rings on, for those who LISTEN and then Kick, as
// pgxoutbox.Listen does.
func (o *Outbox) Channel() string { return channelOf(o.o.Tables) }

// notify rings when the transaction commits. PostgreSQL rings once for all that are the same.
func (o *Outbox) notify(ctx context.Context, s Session) error {
	if !o.o.Notify {
		return nil
	}
	err := s.Query(ctx, "SELECT pg_notify($1::text, '')", []any{o.Channel()}, func(func(...any) error) error { return nil })
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	return nil
}
