package store_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/redistest"
	"github.com/waybillhq/waybill/internal/store"
)

// permitted are the commands that docs/protocol.md lists, as rules of an ACL.
func permitted(t *testing.T) []any {
	t.Helper()
	_, page, _ := strings.Cut(readText(t, protocolPage), "**Permissions.**")
	page, _, _ = strings.Cut(page, "\n\n")
	rules := []any{"ACL", "SETUSER", "default", "-@all", "+acl", "+hello", "+client"} // the last two when it connects
	for _, command := range regexp.MustCompile(`\b[A-Z]{3,}\b`).FindAllString(page, -1) {
		if command != "ACL" && command != "LOAD" && command != "INFO" {
			rules = append(rules, "+"+strings.ToLower(command))
		}
	}
	return rules
}

func TestTopic_permissions(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	admin := srv.Client().Conn()
	t.Cleanup(func() { _ = admin.Close() })
	if err := admin.Do(t.Context(), permitted(t)...).Err(); err != nil {
		t.Fatal(err)
	}
	t.Run("that are documented suffice for all that is done with a topic", func(t *testing.T) {
		f := newTopicOn(t, srv.Client(), "wb", false, "billing", "mail")
		f.set(store.TopicSettings{Capacity: pointer(int64(2)), OnFull: pointer(store.FullDetaches)})
		f.have("a", "b")
		f.is("a b", f.work("billing", 10))
		f.have("c", "d")
		f.is("c d", f.work("billing", 10))
		f.is(int64(2), f.stand("mail", store.Beginning, true).Lost)
		f.is("c d", f.work("mail", 10))
		f.is(int64(2), f.trim())
		left, err := f.Unsubscribe(t.Context(), "mail")
		f.must(err)
		f.is(true, left.Removed)
		_, _, err = f.Read(t.Context(), "-", "+", 10)
		f.must(err)
		_, err = f.Settings(t.Context())
		f.must(err)
	})
	t.Run("without those of streams are not enough", func(t *testing.T) {
		if err := admin.Do(t.Context(), "ACL", "SETUSER", "default", "-xadd").Err(); err != nil {
			t.Fatal(err)
		}
		f := newTopicOn(t, srv.Client(), "other", false, "billing")
		for _, e := range f.Enqueue(t.Context(), []store.Add{event("a")}, false) {
			if e.Err == nil {
				t.Errorf("%s without XADD", e.Outcome)
			}
		}
		if n := f.rdb.Exists(t.Context(), f.Tag()+"settled:n0").Val(); n != 0 {
			t.Error("an event that was refused is remembered")
		}
	})
}
