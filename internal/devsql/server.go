package devsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/waybillhq/waybill/internal/devredis"
	"github.com/waybillhq/waybill/internal/dialect"
)

// grace is how long a server may take to end before it is killed.
const grace = 20 * time.Second

// Options say how a server runs. The zero value commits durably, as the database's own defaults do.
type Options struct {
	// NoSync leaves out fsync: quick, for tests. What was committed then survives Kill and Stop, but not a power
	// cut.
	NoSync bool

	// Settings are further settings of the server, each as "name=value"; they win over those of this package. Names
	// are written as in the server's configuration file.
	Settings []string
}

// Server is a running database server. Kill, Stop, Restart and Close belong to one goroutine; any may call the rest.
type Server struct {
	dialect  dialect.Dialect
	engine   engine
	programs programs
	account  *devredis.User
	dir      *directory
	args     []string
	process  *devredis.Process
	names    atomic.Int64
	close    sync.Once
	closeErr error
}

// Start makes an empty data directory, starts a server on it and returns when it answers, after about two seconds. The
// context bounds the start, not the server's life: the caller ends it with Close. It fails with [ErrMissing],
// [ErrNoServer] or [devredis.ErrExited], or with the context's error.
func Start(ctx context.Context, d dialect.Dialect, o Options) (*Server, error) {
	found, err := find(d)
	if err != nil {
		return nil, err
	}
	e := engineOf(d)
	account, err := accountOf(e.account)
	if err != nil {
		return nil, err
	}
	dir, err := newDirectory(account)
	if err != nil {
		return nil, fmt.Errorf("a directory for %s: %w", d, err)
	}
	s := &Server{dialect: d, engine: e, programs: found, account: account, dir: dir}
	s.args = e.serve(dir.path, s.data(), o.NoSync)
	for _, nameValue := range o.Settings {
		s.args = append(s.args, e.setting(nameValue)...)
	}
	err = s.install(ctx)
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", d, err), s.Close())
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir.path, "data") }

func (s *Server) command(binary string, args []string, sig syscall.Signal) devredis.Command {
	return devredis.Command{Binary: binary, Args: args, Dir: s.dir.path, User: s.account, DeathSignal: sig}
}

// install makes the data directory.
func (s *Server) install(ctx context.Context) error {
	p, err := s.command(s.programs.install, s.engine.install(s.data()), syscall.SIGKILL).Start()
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
		return p.Stop(0) // it has ended: only its status is asked for
	case <-ctx.Done():
		p.Kill()
		return context.Cause(ctx)
	}
}

func (s *Server) launch(ctx context.Context) error {
	p, err := s.command(s.programs.server, s.args, s.engine.kill).Start()
	if err != nil {
		return err
	}
	s.process = p
	if err := s.waitReady(ctx); err != nil {
		s.Kill()
		return err
	}
	return nil
}

// waitReady asks until the server answers. Nobody else can: the socket lies in the server's own directory.
func (s *Server) waitReady(ctx context.Context) error {
	db, err := s.admin()
	if err != nil {
		return err
	}
	defer db.Close()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for db.PingContext(ctx) != nil {
		select {
		case <-s.process.Done():
			return fmt.Errorf("%w; its last output:\n%s", devredis.ErrExited, s.process.Output())
		case <-ctx.Done():
			return fmt.Errorf("%w; the server's last output:\n%s", context.Cause(ctx), s.process.Output())
		case <-ticker.C:
		}
	}
	return nil
}

func (s *Server) admin() (*sql.DB, error) {
	return s.engine.open(s.engine.dsn(s.dir.path, s.engine.admin))
}

// Dialect is the kind of database.
func (s *Server) Dialect() dialect.Dialect { return s.dialect }

// Driver is the name of the driver in database/sql that DSN is for: "pgx" or "mysql".
func (s *Server) Driver() string { return s.engine.driver }

// DSN is the address of one of the server's databases for Driver. It stays the same over Restart.
func (s *Server) DSN(database string) string { return s.engine.dsn(s.dir.path, database) }

// URL is the address of one of the server's databases for the command line.
func (s *Server) URL(database string) string { return s.engine.url(s.dir.path, database) }

// PID is the process ID of the running server; after Restart it is another.
func (s *Server) PID() int { return s.process.PID() }

// Dir is the server's directory. The socket and the data lie in it.
func (s *Server) Dir() string { return s.dir.path }

// Output returns the last lines that the server wrote, at most 4 KiB.
func (s *Server) Output() string { return s.process.Output() }

// NewDatabase makes an empty database and returns its name, which no other of this server has.
func (s *Server) NewDatabase(ctx context.Context) (string, error) {
	name := "w" + strconv.FormatInt(s.names.Add(1), 10)
	return name, s.exec(ctx, s.engine.create+name)
}

// DropDatabase removes a database that NewDatabase made. On PostgreSQL it ends the connections to it; on MariaDB it
// fails after a second while a transaction is open in it.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, s.engine.drop+name+s.engine.dropForce)
}

func (s *Server) exec(ctx context.Context, statement string) error {
	db, err := s.admin()
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s on %s: %w", statement, s.dialect, err)
	}
	return nil
}
