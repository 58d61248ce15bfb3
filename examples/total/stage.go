package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/database"
	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/receipt"
)

// options are the addresses; "" = something private.
type options struct{ redis, database string }

// stage is where all cases are played: one Redis and one database.
type stage struct {
	options
	self    string // path of this program
	run     string // keeps the names of this run apart from those of others
	rdb     *redis.Client
	client  *waybill.Client
	db      *sql.DB
	dialect receipt.Dialect
	ends    []func() error // in the order in which they were begun
}

func open(ctx context.Context, o options) (*stage, error) {
	s := &stage{options: o, run: fmt.Sprintf("%x", time.Now().UnixMilli())}
	if err := errors.Join(s.openRedis(ctx), s.openDatabase(ctx)); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stage) openRedis(ctx context.Context) (err error) {
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	if s.redis == "" {
		private, err := devredis.Start(ctx, devredis.Options{})
		if err != nil {
			return err
		}
		s.ends = append(s.ends, private.Close)
		s.redis = private.URL()
	}
	at, err := redis.ParseURL(s.redis)
	if err != nil {
		return err
	}
	s.rdb = redis.NewClient(at)
	s.ends = append(s.ends, s.rdb.Close)
	s.client, err = waybill.NewClient(s.rdb, waybill.ClientOptions{})
	return err
}

func (s *stage) openDatabase(ctx context.Context) (err error) {
	if s.database == "" {
		dir, err := os.MkdirTemp("", "waybill-total-")
		if err != nil {
			return err
		}
		s.ends = append(s.ends, func() error { return os.RemoveAll(dir) })
		s.database = "sqlite:" + (&url.URL{Path: filepath.ToSlash(filepath.Join(dir, "total.db"))}).EscapedPath()
	}
	if s.db, s.dialect, err = database.Open(ctx, s.database); err != nil {
		return err
	}
	s.ends = append(s.ends, s.db.Close)
	_, err = receipt.Migrate(ctx, s.db, s.dialect, receipt.Options{})
	return err
}

// close ends what was begun, the last first. What fails there changes no figure.
func (s *stage) close() {
	for i := len(s.ends) - 1; i >= 0; i-- {
		_ = s.ends[i]()
	}
}

// process is a worker process.
type process struct {
	orders
	cmd    *exec.Cmd
	said   bytes.Buffer
	stderr bytes.Buffer
}

func (s *stage) start(ctx context.Context, o orders) (*process, error) {
	p := &process{orders: o, cmd: exec.CommandContext(ctx, s.self, childWord, "-redis", s.redis, "-database", s.database,
		"-way", o.way, "-queue", o.queue, "-die", string(o.die))}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.stderr
	return p, p.cmd.Start()
}

// wait waits until the process has ended. It is to be killed where it was ordered to die, and else to end in order.
func (p *process) wait() error {
	err := p.cmd.Wait()
	if killed := err != nil && p.cmd.ProcessState.ExitCode() == -1; killed == (p.die != nowhere) && (killed || err == nil) {
		return nil
	}
	return fmt.Errorf("a worker that was to die at %q ended with %s: %s", p.die, p.cmd.ProcessState, p.stderr.String())
}

// deliveries is how many jobs the process said it got; call it after wait.
func (p *process) deliveries() int64 { return int64(strings.Count(p.said.String(), took)) }
