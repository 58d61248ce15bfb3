package pgxreceipt

import (
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/receipt"
)

func isolation(o receipt.Options) (pgx.TxIsoLevel, error) {
	switch o.Isolation {
	case sql.LevelDefault:
		return "", nil
	case sql.LevelReadCommitted:
		return pgx.ReadCommitted, nil
	case sql.LevelRepeatableRead:
		return pgx.RepeatableRead, nil
	case sql.LevelSerializable:
		return pgx.Serializable, nil
	}
	return "", fmt.Errorf("%w: isolation: %s is none of PostgreSQL's", receipt.ErrInvalid, o.Isolation)
}
