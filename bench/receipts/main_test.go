package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/devsql"
	"github.com/waybillhq/waybill/internal/dialect"
)

// TestReceipts runs all of it once, shortly: that every figure is there, not what it is.
func TestReceipts(t *testing.T) {
	t.Parallel()
	s := settings{each: 100 * time.Millisecond, rounds: 1, databases: []dialect.Dialect{dialect.SQLite}, clients: []int{1, 2}}
	if _, ok := devsql.Find(dialect.PostgreSQL); ok {
		s.databases = append(s.databases, dialect.PostgreSQL)
	}
	var out strings.Builder
	if err := measure(t.Context(), s, &out); err != nil {
		t.Fatal(err)
	}
	for _, d := range s.databases {
		if !regexp.MustCompile(`(?m)^ *` + string(d) + ` +2 +[1-9]\d* +[1-9]\d* +\d+\.\d\d`).MatchString(out.String()) {
			t.Errorf("nothing of %s in\n%s", d, &out)
		}
	}
}
