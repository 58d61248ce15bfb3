package devredis

import "log/slog"

const (
	keyURL     = "url"
	keyVersion = "version"
	keyDurable = "durable"
)

// log tells of the start now and wraps stop to tell of the end.
func (s *Server) log(l *slog.Logger) {
	l.Info("development Redis started", slog.String(keyURL, s.url),
		slog.String(keyVersion, s.version), slog.Bool(keyDurable, s.durable))
	stop := s.stop
	s.stop = func() error {
		err := stop()
		if err == nil {
			l.Info("development Redis stopped", slog.String(keyURL, s.url))
		}
		return err
	}
}
