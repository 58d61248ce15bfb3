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

// guides are the pages of docs, in order.
func guides(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs/guides/*.md"))
	if err != nil || len(pages) < 8 {
		t.Fatalf("pages %v, %v", pages, err)
	}
	more := []string{"README.md", "docs/README.md", "docs/comparison.md"}
	for _, m := range more {
		pages = append(pages, filepath.Join(root, m))
	}
	return pages
}

// programs are the folders with what the pages show.
var programs = []string{"examples", "migrate"}

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
	for _, folder := range programs {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") {
				out = append(out, "\n"+flat(read(t, path))+"\n")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
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
	all := 0
	for _, name := range guides(t) {
		pieces := strings.Split(read(t, name), "```go\n")[1:]
		all += len(pieces)
		t.Run("every piece of Go in "+filepath.Base(name)+" stands in an example", func(t *testing.T) {
			t.Parallel()
			for _, p := range pieces {
				if code, _, _ := strings.Cut(p, "```"); !within(files, code) {
					t.Errorf("stands in no example:\n%s", code)
				}
			}
		})
	}
	if all < 20 {
		t.Errorf("%d pieces on all pages", all)
	}
}

func TestGuides_Links(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s"#]+)[)#]`)
	for _, path := range guides(t) {
		t.Run("what "+strings.TrimPrefix(path, root+"/")+" points to is there", func(t *testing.T) {
			t.Parallel()
			for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil && !strings.Contains(m[1], "://") {
					t.Error(err)
				}
			}
		})
	}
}
