package linear_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/store"
)

// frame is one call of a script as it was sent, and what came back.
type frame struct {
	client      int
	begun, done int64 // ns since the round began
	verb        string
	args        []string // behind the tag
	answer      []string // nil = none came
}

// verbs are those of scripts by their digests.
var verbs = store.Digests()

// readCall reads a call's words: EVALSHA, digest, number of keys, keys, tag, arguments. ok is false for other commands.
func readCall(words []string) (f frame, ok bool) {
	if len(words) < 3 || !strings.EqualFold(words[0], "evalsha") {
		return frame{}, false
	}
	keys, err := strconv.Atoi(words[2])
	if err != nil || len(words) < 4+keys {
		return frame{}, false
	}
	return frame{verb: verbs[words[1]], args: words[4+keys:]}, true
}

// texts are the values of a command or a reply as text.
func texts(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []byte:
			out[i] = string(v)
		default:
			out[i] = fmt.Sprint(v)
		}
	}
	return out
}

// readReply reads an array of strings and numbers as it came; ok is false for what is none, as an error.
func readReply(raw []byte) (values []string, ok bool) {
	head, rest, _ := bytes.Cut(raw, []byte("\r\n"))
	if len(head) == 0 || head[0] != '*' {
		return nil, false
	}
	values = []string{}
	for len(rest) > 0 {
		head, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		switch head[0] {
		case ':':
			values = append(values, string(head[1:]))
		case '$':
			n, _ := strconv.Atoi(string(head[1:]))
			values = append(values, string(rest[:n]))
			rest = rest[n+2:]
		default:
			return nil, false
		}
	}
	return values, true
}

// jobs are those that a frame is about; none for a claim, which is about all.
func (f frame) job() string {
	switch f.verb {
	case "enqueue":
		return f.args[1]
	case "settle", "progress":
		return idOf(f.args[0])
	case "renew":
		return idOf(f.args[1])
	case "cancel", "delete":
		return f.args[1]
	case "requeue", "promote", "get":
		return f.args[0]
	}
	return ""
}

// A lease's member is a token, a blank, and an element: sixteen bytes before the job's ID.
func idOf(member string) string {
	_, el, _ := strings.Cut(member, " ")
	return el[16:]
}

func tokenOf(member string) string {
	token, _, _ := strings.Cut(member, " ")
	return token
}

// call is what the frame asks for.
func (f frame) call() call {
	c := call{verb: f.verb}
	switch f.verb {
	case "enqueue":
		c.delay, c.print = whole(f.args[3]), f.args[4][2:13]
	case "claim":
		c.worker, c.number, c.lease = f.args[0], f.args[1], whole(f.args[3])
	case "renew":
		c.lease, c.token = whole(f.args[0]), tokenOf(f.args[1])
	case "progress":
		c.token = tokenOf(f.args[0])
	case "settle":
		c.token, c.end = tokenOf(f.args[0]), f.args[1]
		if len(f.args) > 3 {
			c.delay, c.retention = whole(f.args[3]), whole(f.args[4])
		}
	case "delete":
		c.options = f.args[0]
	}
	return c
}

// reply is what the answer says of a job.
func (f frame) reply(id string) reply {
	if f.answer == nil {
		return reply{}
	}
	r := reply{given: true, now: whole(f.answer[0])}
	switch f.verb {
	case "claim":
		return f.claimed(id)
	case "enqueue":
		r.word = f.answer[3]
	case "get":
		r.word, r.at = f.answer[1], whole(f.answer[2])
		r.counts(f.answer[4])
		if run := strings.Fields(f.answer[4]); len(run) > 4 && run[4] != "-" {
			r.token = run[4]
		}
	default:
		r.word = f.answer[1]
	}
	return r
}

func (f frame) claimed(id string) reply {
	r := reply{given: true, now: whole(f.answer[1]), word: f.answer[0]}
	for i := 7; i+2 < len(f.answer); i += 3 {
		if f.answer[i][16:] == id {
			r.took, r.at = true, whole(f.answer[5])
			r.counts(f.answer[i+1])
			r.token = strconv.Itoa(r.attempts) + "-" + f.args[0] + "." + f.args[1]
		}
	}
	return r
}

// counts reads attempts, failures, crashes and more.
func (r *reply) counts(s string) {
	if n := strings.Fields(s); len(n) > 3 {
		r.attempts, r.failures, r.crashes = int(whole(n[0])), int(whole(n[1])), int(whole(n[2]))
	}
}

func whole(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
