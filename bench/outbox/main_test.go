package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/dialect"
	"github.com/waybillhq/waybill/internal/redistest"
)

// TestOutbox runs all of it once, shortly: that every figure is there, not what it is.
func TestOutbox(t *testing.T) {
	t.Parallel()
	redistest.Binary(t) // skips where there is none
	s := settings{
		databases: []dialect.Dialect{dialect.SQLite}, rows: 1500, each: 200 * time.Millisecond, rounds: 1, clients: 2,
		only: []string{"relay", "beside", "latency"},
	}
	if _, ok := devsql.Find(dialect.PostgreSQL); ok {
		s.databases = append(s.databases, dialect.PostgreSQL)
	}
	var out strings.Builder
	if err := measure(t.Context(), s, &out); err != nil {
		t.Fatal(err)
	}
	for _, d := range s.databases {
		for _, line := range []string{`relay +1500 rows of 200 bytes: [1-9]`, `beside .*as fast .*: [1-9]`, `latency +plain client +: p50 \d`} {
			if !regexp.MustCompile(`(?m)^` + string(d) + ` +` + line).MatchString(out.String()) {
				t.Errorf("%s: nothing like %s in\n%s", d, line, &out)
			}
		}
	}
}
