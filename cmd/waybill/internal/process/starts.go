package process

import (
	"errors"
	"io/fs"
	"log/slog"
	"os/exec"
	"sync"
	"time"
)

// Keys of log attributes.
const (
	keyJob   = "job"
	keyTimes = "times"
	keyError = "error"
)

// tellAgain is how often a command that still can't start is told of.
const tellAgain = time.Minute

// CheckProgram tells early of a program that could never start, in a few words.
func CheckProgram(name string) error {
	_, err := exec.LookPath(name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("not found on the PATH")
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		return errors.New("not executable")
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		return e.Err
	}
	return err
}

// Starts tells when a command can't start any more, and when it can again: not for each try, of
// which there may be thousands meanwhile. Make it with NewStarts. It is safe for concurrent use.
type Starts struct {
	log    *slog.Logger
	mu     sync.Mutex
	failed int       // tries since it could last start
	told   time.Time // of that, last
	why    error     // the last one
}

// NewStarts makes a Starts that tells a logger.
func NewStarts(log *slog.Logger) *Starts { return &Starts{log: log} }

// Fail notes that the command did not start; job is the one that was released for it, "" = none.
func (s *Starts) Fail(job string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.why = s.failed+1, err
	if s.failed > 1 && time.Since(s.told) < tellAgain {
		return
	}
	s.told = time.Now()
	attrs := []any{slog.Int(keyTimes, s.failed), slog.Any(keyError, err)}
	if job != "" {
		attrs = append(attrs, slog.String(keyJob, job))
	}
	s.log.Error("command can't start: no job fails for it", attrs...)
}

// OK notes that the command started.
func (s *Starts) OK() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed > 0 {
		s.log.Info("command starts again", slog.Int(keyTimes, s.failed))
	}
	s.failed, s.why = 0, nil
}

// Why is the error of the last start, or nil where that went well.
func (s *Starts) Why() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}
