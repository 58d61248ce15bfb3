package sqltest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/sqltest"
)

// recorder is a testing.TB that notes how the test was ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Skip(args ...any) {
	r.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) {
	r.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

func TestAbsent(t *testing.T) {
	end := func(t *testing.T, ci string) *recorder {
		t.Setenv("CI", ci)
		r := &recorder{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			sqltest.Absent(r, dialect.MariaDB)
		}()
		<-done
		return r
	}
	t.Run("skips loudly", func(t *testing.T) {
		r := end(t, "")
		if !strings.Contains(r.skipped, "NO DATABASE") || !strings.Contains(r.skipped, "missing: mariadb") || r.failed != "" {
			t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
		}
	})
	t.Run("fails in CI", func(t *testing.T) {
		if r := end(t, "true"); !strings.Contains(r.failed, "NO DATABASE") || r.skipped != "" {
			t.Errorf("skipped %q, failed %q", r.skipped, r.failed)
		}
	})
}
