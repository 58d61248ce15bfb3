package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// tellAgain is how often a command that still can't start is told of.
const tellAgain = time.Minute

// checkCommand tells early of a command that could never start.
func checkCommand(cmd *cobra.Command, name string) error {
	_, err := exec.LookPath(name)
	if err == nil {
		return nil
	}
	why := err
	if e, ok := errors.AsType[*exec.Error](err); ok {
		why = e.Err
	}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		why = errors.New("not found on the PATH")
	case errors.Is(err, fs.ErrNotExist):
		why = errors.New("no such file")
	case errors.Is(err, fs.ErrPermission):
		why = errors.New("not executable")
	}
	return usage(cmd, "command %s: %v", name, why)
}

// starts tells when the command can't start any more, and when it can again: not for each job, of
// which there may be thousands meanwhile.
type starts struct {
	log    *slog.Logger
	mu     sync.Mutex
	failed int       // jobs released since it could last start
	told   time.Time // of that, last
}

// fail notes that the command did not start for a job.
func (s *starts) fail(job string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	if s.failed > 1 && time.Since(s.told) < tellAgain {
		return
	}
	s.told = time.Now()
	s.log.Error("command can't start: its jobs are released", slog.String(keyJob, job), slog.Int(keyJobs, s.failed),
		slog.Any(keyError, err))
}

// ok notes that the command started.
func (s *starts) ok() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed > 0 {
		s.log.Info("command starts again", slog.Int(keyJobs, s.failed))
	}
	s.failed = 0
}
