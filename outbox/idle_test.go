package outbox_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/sqltest"
	"github.com/waybillhq/waybill/outbox"
)

// counting counts calls of Redis.
type counting struct{ n *atomic.Int64 }

func (counting) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

func (c counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// counted is a connector whose connections count statements.
type counted struct {
	driver.Connector

	n *atomic.Int64
}

func (c counted) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return countedConn{conn, c.n}, nil
}

// countedConn counts statements, which all are prepared on it: it has no shorter way.
type countedConn struct {
	driver.Conn

	n *atomic.Int64
}

func (c countedConn) Prepare(query string) (driver.Stmt, error) {
	c.n.Add(1)
	return c.Conn.Prepare(query)
}

func TestRelay_idle(t *testing.T) {
	for _, queues := range []int{1, 100} {
		t.Run(fmt.Sprintf("with %d queues an idle relay asks little", queues), func(t *testing.T) {
			s := newStand(t, sqltest.SQLite(t), outbox.Options{})
			var all []waybill.Request
			for i := range queues {
				all = append(all, waybill.Request{Queue: fmt.Sprintf("q%d", i), Kind: "k"})
			}
			s.enter(all...)
			stop := s.relay()
			until(t, "all are sent", func() bool { return s.inState("sent") == int64(queues) })
			stop()
			var calls, statements atomic.Int64
			s.rdb.AddHook(counting{&calls})
			db := sql.OpenDB(counted{connector{s.d.DSN, s.db.Driver()}, &statements})
			t.Cleanup(func() { _ = db.Close() })
			box, err := outbox.New(db, outbox.SQLite, outbox.Options{})
			if err != nil {
				t.Fatal(err)
			}
			s.box = box
			s.relay()
			until(t, "every queue was asked", func() bool { return calls.Load() >= int64(2*queues) })
			beforeCalls, beforeStatements, began := calls.Load(), statements.Load(), time.Now()
			until(t, "three more rounds are over", func() bool { return calls.Load() >= beforeCalls+int64(3*queues) })
			took := time.Since(began).Seconds()
			c, n := float64(calls.Load()-beforeCalls)/took, float64(statements.Load()-beforeStatements)/took
			t.Logf("with %d queues: %.1f calls of Redis and %.1f statements a second", queues, c, n)
			if c > 2*float64(queues)+5 || n > 30 {
				t.Errorf("with %d queues: %.1f calls of Redis and %.1f statements a second", queues, c, n)
			}
		})
	}
}

// connector connects with a driver by a DSN.
type connector struct {
	dsn string
	d   driver.Driver
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.d.Open(c.dsn) }

func (c connector) Driver() driver.Driver { return c.d }
