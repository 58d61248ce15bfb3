package receipt_test

import (
	"context"
	"database/sql"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/receipt"
)

func TestOperation_errorNames(t *testing.T) {
	t.Parallel()
	w := newOpWorld(t, sqltest.SQLite(t), receipt.Options{})
	t.Run("a broken connection to the other side is a failure that names the operation", func(t *testing.T) {
		_, _, err := w.try(operation{KeyTTL: time.Hour, Send: says(io.EOF)}, attempt("job", "a"))
		wantEnd(t, err, io.EOF, waybill.AttemptRetry)
		if err == nil || !strings.Contains(err.Error(), `operation "job": unanswered`) {
			t.Errorf("the error is %v", err)
		}
	})
	t.Run("inside an effect it is refused: it could wait for it", func(t *testing.T) {
		_, err := w.r.Do(t.Context(), attempt("outer", "a"), func(ctx context.Context, _ *sql.Tx) error {
			_, err := operation{Send: neverSent(t)}.Do(ctx, w.r, attempt("outer", "a", "call"))
			return err
		})
		wantIs(t, err, receipt.ErrInvalid)
	})
}
