package topictest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill/internal/redistest"
	topictest "github.com/waybillhq/waybill/test/topics"
	"github.com/waybillhq/waybill/topic"
)

// plainEvent is an event as redis-cli shows it: the ID of its entry, and its fields, names and values in turn.
type plainEvent struct {
	entry  string
	fields []string
}

// cli runs a command by redis-cli and gives what it prints as JSON.
func (s *stand) cli(args ...string) []byte {
	s.Helper()
	path, err := exec.LookPath("redis-cli")
	if err != nil && os.Getenv("CI") == "" {
		s.Skip("redis-cli is not installed")
	}
	must(s.T, err)
	out, err := exec.CommandContext(s.Context(), path, append([]string{"-s", s.server.Addr(), "--json"}, args...)...).CombinedOutput()
	if err != nil {
		s.Fatalf("redis-cli %q: %v: %s", args, err, out)
	}
	return out
}

// readPlain reads at most so many events by redis-cli, as the group audit.
func (s *stand) readPlain(most int) (events []plainEvent) {
	s.Helper()
	var streams map[string][][2]json.RawMessage
	out := s.cli("XREADGROUP", "GROUP", "audit", "one", "COUNT", strconv.Itoa(most), "STREAMS", streamKey, ">")
	if err := json.Unmarshal(out, &streams); err != nil {
		s.Fatalf("%v: %s", err, out)
	}
	for _, one := range streams[streamKey] {
		var e plainEvent
		must(s.T, json.Unmarshal(one[0], &e.entry))
		must(s.T, json.Unmarshal(one[1], &e.fields))
		events = append(events, e)
	}
	return events
}

// check compares an event with what was published as number n, from 1.
func (e plainEvent) check(n int) error {
	want := []string{"n", strconv.Itoa(n), "id", topictest.ID(n - 1), "head", "", "payload", fmt.Sprintf(`{"N":%d}`, n-1)}
	if len(e.fields) != len(want) {
		return fmt.Errorf("entry %s has %d fields: %q", e.entry, len(e.fields), e.fields)
	}
	head := e.fields[5]
	// A given ID, no outbox, a fingerprint of 11 characters, then a line that begins with the kind.
	if len(head) < 14 || head[:2] != "n-" || !strings.HasPrefix(head[13:], topictest.Topic.Name()) || !strings.Contains(head[13:], "\n") {
		return fmt.Errorf("entry %s has the head %q", e.entry, head)
	}
	want[5] = head
	for i := range want {
		if e.fields[i] != want[i] {
			return fmt.Errorf("entry %s is %q, want %q", e.entry, e.fields, want)
		}
	}
	return nil
}

// TestPlainClient reads a topic by redis-cli with a group of its own, beside a subscription.
func TestPlainClient(t *testing.T) {
	t.Parallel()
	const n = 300
	s := newStand(t, redistest.Start(t), "mail")
	s.cli("XGROUP", "CREATE", streamKey, "audit", "0")
	s.ended(s.publisher(0, n, 0))
	s.subscriber("mail")
	s.drained("mail")

	var read []plainEvent
	for len(read) < n {
		page := s.readPlain(100)
		if len(page) == 0 {
			t.Fatalf("the group was given %d events of %d", len(read), n)
		}
		read = append(read, page...)
	}
	for i, e := range read {
		if err := e.check(i + 1); err != nil {
			t.Fatal(err)
		}
	}
	s.keeps(n, n) // it has read all, and acknowledged none
	s.acknowledge(read[:n/2])
	s.keeps(n/2, n/2)
	s.acknowledge(read[n/2+1:])
	s.keeps(n/2, 1) // one in the middle is still wanted, and what lies above it stays with it
	s.acknowledge(read[n/2 : n/2+1])
	s.keeps(0, 0)
	s.whole("mail")
}

func (s *stand) acknowledge(events []plainEvent) {
	s.Helper()
	args := []string{"XACK", streamKey, "audit"}
	for _, e := range events {
		args = append(args, e.entry)
	}
	s.cli(args...)
}

// keeps checks that the stream is cut below what the group still wants, and no further.
func (s *stand) keeps(entries, pending int64) {
	s.Helper()
	_, err := s.stream.Trim(s.Context(), "")
	must(s.T, err)
	st := s.stats()
	if len(st.Groups) != 1 {
		s.Fatalf("groups: %+v", st.Groups)
	}
	g := st.Groups[0]
	if st.Entries != entries || g.Name != "audit" || g.Pending != pending || g.Behind != entries || g.Abandoned() {
		s.Errorf("%d entries are left, the group is %+v; want %d entries, %d pending", st.Entries, g, entries, pending)
	}
}

// TestAbandoned has a group that nobody reads by, in a stream whose first events are two hours old as their IDs say.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	s := newStand(t, redistest.Start(t), "mail")
	ctx := t.Context()
	_, err := topictest.Topic.PublishMany(ctx, s.client, topictest.Events(0, 1))
	must(t, err)
	sample, err := s.rdb.XRange(ctx, streamKey, "-", "+").Result()
	must(t, err)
	must(t, s.rdb.FlushAll(ctx).Err())

	values := []any{"n", 1, "id", topictest.ID(0), "head", sample[0].Values["head"], "payload", sample[0].Values["payload"]}
	old := strconv.FormatInt(time.Now().Add(-2*time.Hour).UnixMilli(), 10) + "-0"
	must(t, s.rdb.XAdd(ctx, &redis.XAddArgs{Stream: streamKey, ID: old, Values: values}).Err())
	must(t, s.rdb.XGroupCreate(ctx, streamKey, "audit", "0").Err())
	must(t, s.rdb.XGroupCreate(ctx, streamKey, "behind", "$").Err())
	_, err = s.stream.Create(ctx, "mail", topic.Beginning)
	must(t, err)
	s.ended(s.publisher(1, 10, 0)) // goes on behind what it finds
	s.subscriber("mail")
	s.drained("mail")
	if st := s.queue("mail"); st.Completed != 10 {
		t.Errorf("mail: %+v", st)
	}

	st := s.stats()
	if st.Published != 10 || st.Entries != 10 || len(st.Groups) != 2 {
		t.Fatalf("%+v", st)
	}
	for _, g := range st.Groups {
		if abandoned := g.Name == "audit"; g.Abandoned() != abandoned {
			t.Errorf("group %s is abandoned: %t, want %t; %+v", g.Name, g.Abandoned(), abandoned, g)
		}
	}
}
