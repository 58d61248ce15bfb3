package devsql

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Kill ends the server at once, as a crash does, and returns when it has ended. Restart finds what was committed.
func (s *Server) Kill() { _ = s.end(s.engine.kill) } // however it ends

// Stop ends the server in order and returns when it has ended; it does not wait for clients. Restart starts it again.
// The error says that it had to be killed or that it failed.
func (s *Server) Stop() error {
	if err := s.end(s.engine.stop); err != nil {
		return fmt.Errorf("stop %s: %w", s.dialect, err)
	}
	return nil
}

// Restart starts the server again on its data, after a Kill if it runs, and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	s.Kill()
	if err := s.launch(ctx); err != nil {
		return fmt.Errorf("restart %s: %w", s.dialect, err)
	}
	return nil
}

// Close kills the server and removes its directory. Further calls return the same error.
func (s *Server) Close() error {
	s.close.Do(func() {
		if s.process != nil {
			s.Kill()
		}
		s.closeErr = s.dir.Close()
	})
	return s.closeErr
}

func (s *Server) end(sig syscall.Signal) error {
	if s.process.Signal(sig) == nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-s.process.Done():
		case <-timer.C:
			s.process.Kill()
			return fmt.Errorf("killed after %v", grace)
		}
	}
	<-s.process.Done()
	return s.process.Stop(0) // it has ended: only its status is asked for
}
