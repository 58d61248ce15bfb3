package house_test

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// listed is what `go list -json` tells of a package.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// list runs the go command. With -e, a package that does not compile at the
// moment is listed too: another check tells of that.
func list(t *testing.T, args ...string) []listed {
	t.Helper()
	args = append([]string{"list", "-e", "-json=ImportPath,Standard,Imports"}, args...)
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Logf("%s", exit.Stderr)
		}
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// watch looks at every Go file of the module. The go command then knows that the
// result depends on them, and does not take it from its cache after one of them
// changed; what a child process reads it does not see.
func watch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// within returns a package's path within the module, "." for the root package.
func within(importPath string) (path string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestImports(t *testing.T) {
	t.Parallel()
	watch(t)
	for _, p := range list(t, module+"/...") {
		from, ok := within(p.ImportPath)
		if !ok {
			t.Fatalf("go list gave %s", p.ImportPath)
		}
		if floorOf(from) == unlisted {
			t.Errorf("%s stands on no floor: add it to the table floors in internal/house/floors_test.go", from)
		}
		for _, i := range p.Imports { // those of tests are not among them
			to, ok := within(i)
			if !ok {
				continue
			}
			if why := complaint(from, to); why != "" {
				t.Errorf("%s imports %s: %s", from, to, why)
			}
		}
	}
}

func TestRootDependencies(t *testing.T) {
	t.Parallel()
	watch(t)
	isRoot := func(p listed) bool { return p.ImportPath == module }
	if !slices.ContainsFunc(list(t, module+"/..."), isRoot) {
		t.Fatal("there is no root package")
	}
	allowed := map[string]bool{module: true}
	for _, p := range list(t, "-deps", "github.com/redis/go-redis/v9") {
		allowed[p.ImportPath] = true
	}
	for _, p := range list(t, "-deps", module) {
		own := strings.HasPrefix(p.ImportPath, module+"/internal/")
		if !p.Standard && !own && !allowed[p.ImportPath] {
			t.Errorf("the root package depends on %s: its users would too; go-redis is all that it may bring", p.ImportPath)
		}
	}
}

func TestComplaint(t *testing.T) {
	t.Parallel()
	cases := []struct {
		from, to string
		fine     bool
	}{
		{"internal/store", "internal/record", true},
		{"internal/record", "internal/store", false},
		{"internal/store", "internal/runner", false},
		{"internal/runner", "internal/batch", true},
		{"internal/batch", "internal/runner", false},
		{"internal/keeper", "internal/doctor", false},
		{".", "internal/runner", true},
		{"internal/runner", ".", false},
		{"waybilltest", ".", true},
		{".", "web", false},
		{"web", ".", true},
		{"cmd/waybill", "web", true},
		{"cmd/waybill", "internal/devredis", true},
		{"cmd/waybill", "internal/redistest", false},
		{"waybilltest", "internal/redistest", false},
		{"test/faults", "internal/redistest", true},
		{"internal/redistest", "internal/devredis", true},
		{"cmd/waybill", "internal/database", true},
		{"receipt", "internal/database", false},
		{"examples/total", "internal/devsql", true},
		{"examples/total", "internal/sqltest", false},
		{"test/faults", "internal/sqltest", true},
	}
	for _, c := range cases {
		if why := complaint(c.from, c.to); (why == "") != c.fine {
			t.Errorf("%s imports %s: complaint %q", c.from, c.to, why)
		}
	}
}
