package pages_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the module's directory.
const root = "../../.."

var guides = []string{"docs/guide.md", "docs/testing.md"}

// flat is code without what differs between a page and the place it is from: indentation.
func flat(code string) string {
	lines := strings.Split(strings.TrimSpace(code), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(lines, "\n")
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sources are the files of all examples.
func sources(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") {
			out = append(out, "\n"+flat(read(t, path))+"\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func within(files []string, code string) bool {
	for _, f := range files {
		if strings.Contains(f, "\n"+flat(code)+"\n") {
			return true
		}
	}
	return false
}

func TestGuides_Code(t *testing.T) {
	t.Parallel()
	files := sources(t)
	for _, name := range guides {
		t.Run("every piece of Go in "+name+" stands in an example", func(t *testing.T) {
			t.Parallel()
			pieces := strings.Split(read(t, filepath.Join(root, name)), "```go\n")[1:]
			if len(pieces) < 3 {
				t.Fatalf("%d pieces", len(pieces))
			}
			for _, p := range pieces {
				if code, _, _ := strings.Cut(p, "```"); !within(files, code) {
					t.Errorf("stands in no example:\n%s", code)
				}
			}
		})
	}
}

func TestGuides_Links(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s"#]+)[)#]`)
	for _, name := range guides {
		t.Run("what "+name+" points to is there", func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(root, name)
			for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil && !strings.Contains(m[1], "://") {
					t.Error(err)
				}
			}
		})
	}
}
