package broken_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/waybillhq/waybill/test/fault/broken"
)

var update = flag.Bool("update", false, "write the table of the faults into docs/proof.md")

// TestTable shows that the document's table is that of the faults. With -update it makes it so.
func TestTable(t *testing.T) {
	name := filepath.Join(root, "docs", "proof.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := broken.Put(string(text))
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case want == string(text):
	case *update:
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	default:
		t.Error("the table in docs/proof.md is an older one: go test ./test/fault/broken -run TestTable -update")
	}
}
