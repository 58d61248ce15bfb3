package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
)

// programs that run beside the commands of a page, from examples.
var programs = map[string]string{"start.md": "start"}

// TestGuides runs the blocks of docs/guides that are marked "console", a page in one directory and on one Redis:
//
//	$ waybill enqueue mail welcome hello --id a    a command, by a shell
//	a                                              what it prints, stdout and stderr together
//
// A block that is marked with a language and a name, as "python order.py", is a file of that name there.
//
// In what is printed … stands for anything within a line, and alone for any lines; spaces count as one. A command that
// fails is followed by "$ echo $?".
func TestGuides(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/guides/*.md")
	must(t, err)
	ran := 0
	for _, path := range pages {
		text, err := os.ReadFile(path)
		must(t, err)
		steps := stepsOf(t, string(text))
		if len(steps) == 0 {
			continue
		}
		ran++
		t.Run("the commands of "+filepath.Base(path)+" print what it shows", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFiles(t, dir, string(text))
			runPage(t, dir, programs[filepath.Base(path)], steps)
		})
	}
	if ran < 5 {
		t.Errorf("%d of %d pages have commands", ran, len(pages))
	}
}

// step is a command of a page and what it is to print.
type step struct{ command, want string }

func stepsOf(t *testing.T, page string) (steps []step) {
	t.Helper()
	for _, part := range strings.Split(page, "```console\n")[1:] {
		block, _, closed := strings.Cut(part, "```")
		if !closed || !strings.HasPrefix(block, "$ ") {
			t.Fatalf("a block that is not closed, or begins with no command:\n%s", block)
		}
		more := false
		for line := range strings.Lines(block) {
			command, begins := strings.CutPrefix(line, "$ ")
			switch {
			case more:
				steps[len(steps)-1].command += line
			case begins:
				steps = append(steps, step{command: command})
			default:
				steps[len(steps)-1].want += line
			}
			more = (more || begins) && strings.HasSuffix(line, "\\\n")
		}
	}
	return steps
}

// named is a block with the name of a file.
var named = regexp.MustCompile("(?ms)^```[a-z]+ ([a-z]+\\.[a-z]+)\n(.*?)^```")

func writeFiles(t *testing.T, dir, page string) {
	t.Helper()
	for _, m := range named.FindAllStringSubmatch(page, -1) {
		must(t, os.WriteFile(filepath.Join(dir, m[1]), []byte(m[2]), 0o600))
	}
}

// runPage runs commands one after another.
func runPage(t *testing.T, dir, program string, steps []step) {
	t.Helper()
	env := append(os.Environ(),
		"WAYBILL_REDIS="+redistest.Start(t, redistest.TCP()).URL(), "GORACE="+quickExit, "HOME="+dir, "USER=ann")
	if program != "" {
		beside(t, program, dir, env)
	}
	status := 0
	for i, s := range steps {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", fmt.Sprintf("(exit %d)\n%s", status, s.command))
		cmd.Dir, cmd.Env = dir, env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run()
		status = cmd.ProcessState.ExitCode()
		told := i+1 < len(steps) && strings.HasPrefix(steps[i+1].command, "echo $?")
		if text := out.String(); text != "" && !strings.HasSuffix(text, "\n") {
			out.WriteByte('\n') // a result is printed as it is
		}
		if !matches(s.want, out.String()) || status != 0 && !told {
			t.Fatalf("$ %sprints, with status %d:\n%s\nthe page shows:\n%s", s.command, status, &out, s.want)
		}
	}
}

// beside runs an example in dir until the test ends. Its binary is also there, as ./hello.
func beside(t *testing.T, program, dir string, env []string) {
	t.Helper()
	binary := filepath.Join(dir, "hello")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../examples/"+program)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir, cmd.Env = dir, env
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// matches compares line by line; see TestGuides.
func matches(want, got string) bool {
	spaces := regexp.MustCompile(` +`)
	p := regexp.QuoteMeta(spaces.ReplaceAllString(want, " "))
	p = regexp.MustCompile(`(?m)^…\n`).ReplaceAllString(p, `(?s:.*\n)?`)
	p = strings.ReplaceAll(p, "…", ".*")
	return regexp.MustCompile("^" + p + "$").MatchString(spaces.ReplaceAllString(got, " "))
}
