package stage

import (
	"strings"
)

// torn is what Redis says when the end of its append-only file is not whole.
const torn = "Truncating the AOF"

// Restart starts the server again, after a kill if it runs. Where its file was cut inside a transaction Redis 7.0 leaves the first
// half of that in it, and the start after the next would carry it out (docs/proof.md): so the file is written anew, as operators are
// told to have it. It tells whether that was so.
func (s *Stage) Restart() (rewritten bool) {
	s.Helper()
	s.Server.Restart()
	if !strings.Contains(s.Server.Output(), torn) {
		return false
	}
	s.Logf("the append-only file was torn, and is written anew")
	s.Until("the file is written anew", func() bool {
		info, err := s.direct.Info(s.Context(), "persistence").Result()
		if err != nil {
			return false
		}
		busy := strings.Contains(info, "aof_rewrite_in_progress:1") || strings.Contains(info, "aof_rewrite_scheduled:1")
		if !busy && !rewritten {
			rewritten = s.direct.BgRewriteAOF(s.Context()).Err() == nil
			return false
		}
		return rewritten && !busy && strings.Contains(info, "aof_last_bgrewrite_status:ok")
	})
	return rewritten
}
