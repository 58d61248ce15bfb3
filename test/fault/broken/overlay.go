package broken

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Overlay writes changed copies of a module's files into a directory, for all faults together, and gives the path of what
// "go build -overlay" reads. root is the module's directory. Errors: a place that a fault changes is not there once.
func Overlay(root, dir string, faults []Fault) (overlay string, err error) {
	o := overlaying{root: root, dir: dir, files: map[string]string{}, replace: map[string]string{}}
	for _, f := range faults {
		for _, e := range f.Edits {
			if err := o.edit(f, e); err != nil {
				return "", fmt.Errorf("fault %s: %w", f.Name, err)
			}
		}
	}
	for name, text := range o.files {
		if strings.HasSuffix(name, ".lua") {
			continue // parts of scripts are changed when they are read
		}
		if err := o.write(name, text); err != nil {
			return "", err
		}
	}
	if err := o.helpers(faults); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(map[string]any{"Replace": o.replace}, "", "\t")
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// overlaying is one call of Overlay.
type overlaying struct {
	root, dir string
	files     map[string]string // that are changed, by name; as they are by now
	replace   map[string]string // for the build
}

// edit changes a file, or, of a part of a script, looks whether it could be changed.
func (o *overlaying) edit(f Fault, e Edit) error {
	text, ok := o.files[e.File]
	if !ok {
		raw, err := os.ReadFile(filepath.Join(o.root, filepath.FromSlash(e.File)))
		if err != nil {
			return err
		}
		text = string(raw)
		o.files[e.File] = text
	}
	if n := strings.Count(text, e.Old); n != 1 {
		return fmt.Errorf("%s: this stands there %d times, not once:\n%s", e.File, n, e.Old)
	}
	if !strings.HasSuffix(e.File, ".lua") {
		o.files[e.File] = strings.Replace(text, e.Old, strings.ReplaceAll(e.New, "IS_BROKEN", fmt.Sprintf("brokenIs(%q)", f.Name)), 1)
	}
	return nil
}

// write puts a file beside the true one.
func (o *overlaying) write(name, text string) error {
	to := filepath.Join(o.dir, strings.ReplaceAll(name, "/", "-")+".txt")
	o.replace[filepath.Join(o.root, filepath.FromSlash(name))] = to
	return os.WriteFile(to, []byte(text), 0o600)
}

// helpers adds a file to each package that is changed: which fault is awake. One that nobody knows ends the process, or a
// misspelled name would pass for a fault that is not caught.
func (o *overlaying) helpers(faults []Fault) error {
	packages := map[string]bool{path.Dir(strings.TrimSuffix(luaDir, "/")): true}
	for name := range o.files {
		if strings.HasSuffix(name, ".go") {
			packages[path.Dir(name)] = true
		}
	}
	loader := "internal/store/script.go"
	text, err := o.text(loader)
	if err != nil {
		return err
	}
	const reads = `src, err := sources.ReadFile("lua/" + name + ".lua")`
	if strings.Count(text, reads) != 1 {
		return fmt.Errorf("%s: the place that reads a part of a script is not there once", loader)
	}
	if err := o.write(loader, strings.Replace(text, reads, "src, err := brokenPart(name)", 1)); err != nil {
		return err
	}
	for dir := range packages {
		if err := o.helper(dir, faults); err != nil {
			return err
		}
	}
	return nil
}

// text is a file as it is by now.
func (o *overlaying) text(name string) (string, error) {
	if text, ok := o.files[name]; ok {
		return text, nil
	}
	raw, err := os.ReadFile(filepath.Join(o.root, filepath.FromSlash(name)))
	return string(raw), err
}

func (o *overlaying) helper(dir string, faults []Fault) error {
	name, err := o.packageOf(dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport \"os\"\n", name)
	scripted := dir == path.Dir(strings.TrimSuffix(luaDir, "/"))
	if scripted {
		b.WriteString("import \"bytes\"\n")
	}
	b.WriteString("\nfunc brokenIs(name string) bool { return brokenName() == name }\n\nfunc brokenName() string {\n\tname := os.Getenv(\"WAYBILL_BROKEN\")\n\tswitch name {\n\tcase \"\"")
	for _, f := range faults {
		fmt.Fprintf(&b, ", %q", f.Name)
	}
	b.WriteString(":\n\t\treturn name\n\t}\n\tpanic(\"WAYBILL_BROKEN: no such fault: \" + name)\n}\n")
	if scripted {
		partHelper(&b, faults)
	}
	return o.write(path.Join(dir, "broken_overlay.go"), b.String())
}

// partHelper writes the function that reads a part of a script.
func partHelper(b *bytes.Buffer, faults []Fault) {
	b.WriteString("\nfunc brokenPart(name string) ([]byte, error) {\n\tsrc, err := sources.ReadFile(\"lua/\" + name + \".lua\")\n\tswitch brokenName() + \" \" + name {\n")
	parts := map[string][]Edit{}
	for _, f := range faults {
		for _, e := range f.Edits {
			if part, ok := strings.CutPrefix(e.File, luaDir); ok {
				key := f.Name + " " + strings.TrimSuffix(part, ".lua")
				parts[key] = append(parts[key], e)
			}
		}
	}
	for key, edits := range parts {
		fmt.Fprintf(b, "\tcase %q:\n", key)
		for _, e := range edits {
			fmt.Fprintf(b, "\t\tsrc = bytes.Replace(src, []byte(%s), []byte(%s), 1)\n", strconv.Quote(e.Old), strconv.Quote(e.New))
		}
	}
	b.WriteString("\t}\n\treturn src, err\n}\n")
}

// packageOf is the name of the package in a directory.
func (o *overlaying) packageOf(dir string) (string, error) {
	names, err := filepath.Glob(filepath.Join(o.root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		return f.Name.Name, nil
	}
	return "", fmt.Errorf("%s: no Go file", dir)
}
