package receipt_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/waybillhq/waybill/receipt"
)

// cut says where a connection is cut.
type cut int32

const (
	nowhere     cut = iota
	beforeReply     // the commit has come through, and its reply is lost
	beforeSend      // the commit is lost
)

// cutter makes connections of which one is cut at its next commit.
type cutter struct{ at atomic.Int32 }

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &cutConn{Conn: conn, c: c}, err
}

type cutConn struct {
	net.Conn
	c    *cutter
	lose atomic.Bool
}

func (c *cutConn) Write(b []byte) (int, error) {
	if !bytes.Contains(bytes.ToLower(b), []byte("commit")) {
		return c.Conn.Write(b)
	}
	switch cut(c.c.at.Swap(int32(nowhere))) {
	case beforeSend:
		_ = c.Close()
		return 0, net.ErrClosed
	case beforeReply:
		c.lose.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lose.Load() { // what came is the reply
		_ = c.Close()
		return 0, io.EOF
	}
	return n, err
}

// through makes the stand connect through a cutter.
func (s *stand) through(t *testing.T, c *cutter) {
	t.Helper()
	if s.Dialect == receipt.MariaDB {
		config, err := mysql.ParseDSN(s.DSN)
		must(t, err)
		config.DialFunc, config.Logger = c.dial, &mysql.NopLogger{}
		connector, err := mysql.NewConnector(config)
		must(t, err)
		s.db = sql.OpenDB(connector)
	} else {
		config, err := pgx.ParseConfig(s.DSN)
		must(t, err)
		config.DialFunc = c.dial
		s.db = stdlib.OpenDB(*config)
		pool, err := pgxpool.ParseConfig(s.DSN)
		must(t, err)
		pool.ConnConfig.DialFunc = c.dial
		s.pool, err = pgxpool.NewWithConfig(t.Context(), pool)
		must(t, err)
		t.Cleanup(s.pool.Close)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.receipts(t, receipt.Options{})
}

func TestLostCommit(t *testing.T) {
	t.Parallel()
	each(t, servers(), receipt.Options{}, func(t *testing.T, s *stand) {
		c := &cutter{}
		s.through(t, c)
		for name, at := range map[string]struct {
			cut
			runs int
		}{
			"a lost reply to a commit is applied, once": {beforeReply, 1},
			"a lost commit is run again":                {beforeSend, 2},
		} {
			t.Run(name, func(t *testing.T) {
				n, runs := s.number(), 0
				k := key(fmt.Sprint("job-", n)) // the cutter looks for the word
				res, err := s.do(t.Context(), k, func(ctx context.Context, x statement) (string, error) {
					c.at.Store(int32(at.cut))
					if runs++; runs > 1 {
						c.at.Store(int32(nowhere))
					}
					return adds(n)(ctx, x)
				})
				must(t, err)
				if cut(c.at.Load()) != nowhere || runs != at.runs {
					t.Errorf("%d runs, want %d", runs, at.runs)
				}
				if res.Outcome != receipt.Applied || res.Value == "" || s.effects(t, n) != 1 || s.receiptsOf(t, k.ID) != 1 {
					t.Errorf("%+v, %d effects, %d receipts", res, s.effects(t, n), s.receiptsOf(t, k.ID))
				}
			})
		}
		if got := s.r.Counts(); got.Applied != 2 || got.Replayed != 0 || got.Retried != 2 {
			t.Errorf("counts %+v", got)
		}
		t.Run("in the caller's transaction it is the caller's to run again", func(t *testing.T) {
			n, k := s.number(), key("held")
			_, err := s.inTx(t.Context(), k, func(ctx context.Context, x statement) (string, error) {
				c.at.Store(int32(beforeReply))
				return adds(n)(ctx, x)
			})
			if err == nil {
				t.Fatal("no error")
			}
			res, err := s.inTx(t.Context(), k, never(t))
			if err != nil || res.Outcome != receipt.Replayed || s.effects(t, n) != 1 {
				t.Errorf("%+v, %v, %d effects", res, err, s.effects(t, n))
			}
		})
	})
}

// A connection that the server ends inside the effect is the database's, not the user's error.
func TestLostInside(t *testing.T) {
	t.Parallel()
	each(t, some(), receipt.Options{}, func(t *testing.T, s *stand) {
		kill := map[receipt.Dialect]string{
			receipt.PostgreSQL: "SELECT pg_terminate_backend(pg_backend_pid())", receipt.MariaDB: "KILL CONNECTION_ID()",
		}[s.Dialect]
		if kill == "" {
			t.Skip("no server that could end a connection")
		}
		n, runs := s.number(), 0
		res, err := s.do(t.Context(), key("a"), func(ctx context.Context, x statement) (string, error) {
			value, err := adds(n)(ctx, x)
			if runs++; runs == 1 {
				if err := x(ctx, kill); err == nil {
					return "", errors.New("the connection was not ended")
				}
				return value, x(ctx, "SELECT 1")
			}
			return value, err
		})
		if err != nil || res.Outcome != receipt.Applied || runs != 2 || s.effects(t, n) != 1 {
			t.Errorf("%+v, %v, %d runs, %d effects", res, err, runs, s.effects(t, n))
		}
	})
}
