package store_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

const protocolPage = "../../docs/protocol.md"

var updateProtocol = flag.Bool("update-protocol", false, "write the scripts' comments into docs/protocol.md")

// protocol is what is compared: the page, the Lua files by name, the comments on top of the scripts.
type protocol struct {
	page              string
	sources, comments map[string]string
}

// TestProtocol compares docs/protocol.md with the scripts, and the scripts' comments with the calls.
func TestProtocol(t *testing.T) {
	t.Parallel()
	p := protocol{readText(t, protocolPage), map[string]string{}, map[string]string{}}
	files, _ := filepath.Glob("lua/*.lua")
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".lua")
		p.sources[name] = readText(t, f)
		if c := topComment(p.sources[name]); strings.Contains(c, "\nARGV: ") {
			p.comments[name] = c
		}
	}
	t.Run("each script's comment stands under its name", p.comparesComments)
	t.Run("keys have one order in Go, Lua and text", p.comparesKeys)
	t.Run("the table of parts makes the scripts", p.comparesParts)
	t.Run("each field, counter, channel and command is told", p.comparesNames)
	t.Run("each word of a reply is in its comment", p.comparesWords)
	t.Run("calls send what comments list", p.comparesCalls)
	t.Run("the example is a record", p.comparesExample)
}

func (p protocol) comparesComments(t *testing.T) {
	for name, c := range p.comments {
		if strings.Contains(p.page, "### "+name+"\n\n```text\n"+c+"```\n") {
			continue
		}
		t.Errorf("%s: the comment differs: go test ./internal/store -run TestProtocol -update-protocol mends it", name)
		block := regexp.MustCompile("(?s)(### " + name + "\n\n```text\n).*?(```\n)")
		if at := block.FindStringSubmatchIndex(p.page); at != nil {
			p.page = p.page[:at[3]] + c + p.page[at[4]:]
		}
	}
	if *updateProtocol {
		if err := os.WriteFile(protocolPage, []byte(p.page), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func (p protocol) comparesKeys(t *testing.T) {
	list := regexp.MustCompile(`(?s)local (READY,.*?) = unpack\(KEYS\)`).FindString(p.sources["head"])
	lua := regexp.MustCompile(`\b[A-Z0-9]+\b`).FindAllString(strings.TrimSuffix(list, "unpack(KEYS)"), -1)
	long := map[string]string{"GEN0": "settled:g0", "GEN1": "settled:g1", "NAMED0": "settled:n0", "NAMED1": "settled:n1"}
	for i, name := range lua {
		if lua[i] = long[name]; lua[i] == "" {
			lua[i] = strings.ToLower(name)
		}
	}
	if !slices.Equal(lua, store.FixedKeys()) {
		t.Errorf("head.lua names %q, Go %q", lua, store.FixedKeys())
	}
	var text []string
	for _, row := range regexp.MustCompile("(?m)^\\| \\d+(?:, \\d+)? \\| `(.*?)` \\|").FindAllStringSubmatch(p.page, -1) {
		text = append(text, strings.Split(row[1], "`, `")...)
	}
	if n := len(store.FixedKeys()); len(text) < n || !slices.Equal(text[:n], store.FixedKeys()) {
		t.Errorf("docs/protocol.md names %q, Go %q", text, store.FixedKeys())
	}
}

func (p protocol) comparesParts(t *testing.T) {
	made := 0
	row := regexp.MustCompile("(?m)^\\| `(\\w+)` \\|(.*)\\| (?:`([a-z-]+)`)? ?\\|$")
	for _, cells := range row.FindAllStringSubmatch(p.page, -1) {
		if p.comments[cells[1]] == "" {
			continue
		}
		if p.comments[cells[1]] != "" {
			made++
		}
		text := strings.TrimSuffix("#!lua flags="+cells[3], " flags=") + "\n" + p.sources["head"]
		for _, part := range regexp.MustCompile(`\w+`).FindAllString(cells[2], -1) {
			text += p.sources[part]
		}
		if text+p.sources[cells[1]] != store.Source(cells[1]) {
			t.Errorf("%s is made otherwise", cells[1])
		}
	}
	if made != len(p.comments) {
		t.Errorf("%d rows for %d scripts", made, len(p.comments))
	}
}

func (p protocol) comparesNames(t *testing.T) {
	all := strings.Join(slices.Sorted(maps.Values(p.sources)), "\n")
	names := []string{"gen_at", "named_at", "gen_before", "named_before", "window_generated", "window_named", "kind:<kind>"}
	find := func(pattern string, add func(string)) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(all, -1) {
			add(m[1])
		}
	}
	add := func(name string) { names = append(names, name) }
	for _, c := range regexp.MustCompile(`call\('H\w+', META, [^)]*\)`).FindAllString(all, -1) {
		for _, f := range regexp.MustCompile(`'([a-z]\w+[a-z])'`).FindAllStringSubmatch(c, -1) {
			add(f[1])
		}
	}
	find(`count\('(\w+)'`, add)
	find(`'PUBLISH', TAG \.\. '(\w+)'`, func(name string) { add("<tag>" + name) })
	for _, name := range names {
		if !strings.Contains(p.page, "`"+name+"`") {
			t.Errorf("%s is not in docs/protocol.md", name)
		}
	}
	find(`call\('([A-Z]+)'`, func(command string) {
		if !regexp.MustCompile(`\b` + command + `[,.]`).MatchString(p.page) {
			t.Errorf("%s is not among the permissions of docs/protocol.md", command)
		}
	})
}

func (p protocol) comparesWords(t *testing.T) {
	said := regexp.MustCompile(`(?:return|words?(?:\[\w+\])? =) '([a-z]+)'`)
	for name, c := range p.comments {
		for _, w := range said.FindAllStringSubmatch(p.sources[name], -1) {
			if !regexp.MustCompile(`\b` + w[1] + `\b`).MatchString(c) {
				t.Errorf("%s answers %q", name, w[1])
			}
		}
	}
}

func (p protocol) comparesExample(t *testing.T) {
	_, code, _ := strings.Cut(p.page, "**An example.**")
	_, code, _ = strings.Cut(code, "```go\n")
	code, _, _ = strings.Cut(code, "```")
	raw := ""
	for _, literal := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(code, -1) {
		s, _ := strconv.Unquote(literal)
		raw += s
	}
	job := record.Job{
		Kind: "email.welcome", Payload: []byte(`{"user":7}`), Named: true, Delay: time.Minute, Retention: time.Hour,
		MaxFailures: 3, Version: 2, Headers: map[string]string{"tenant": "a"},
	}
	r, err := record.Parse([]byte(raw))
	if err != nil || r.Head.Seq != 26 || r.EnqueuedAt.UnixMilli() != 1767225600000 || !strings.HasSuffix(raw, string(job.Blob())) {
		t.Errorf("%q: %v; the blob is %q", raw, err, job.Blob())
	}
	for _, fp := range []string{record.Fingerprint(job.Kind, job.Payload), record.Fingerprint("k", nil)} {
		if !strings.Contains(p.page, "`"+fp+"`") {
			t.Errorf("fingerprint %s is not in the text", fp)
		}
	}
}

// topComment is the comment on top of a script, without its dashes.
func topComment(source string) string {
	top := regexp.MustCompile(`(?m)\A(?:^--.*\n)+`).FindString(source)
	return regexp.MustCompile(`(?m)^-- ?`).ReplaceAllString(top, "")
}

func readText(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
