package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/internal/store"
)

// object is what a key stands for: no two may share one (I17).
type object struct{ prefix, queue, role, id string }

func (o object) key(t *rapid.T, rdb *redis.Client) string {
	s, err := store.New(rdb, store.Options{Prefix: o.prefix})
	if err != nil {
		t.Fatal(err)
	}
	q, err := s.Queue(o.queue)
	if err != nil {
		t.Fatal(err)
	}
	return q.Tag() + o.role + o.id
}

func TestKeys_NoTwoObjectsShareOne(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	name := rapid.OneOf(rapid.SampledFrom([]string{"a", "a.sub", "sub", "job", "ready"}), rapid.StringMatching(`[A-Za-z0-9._-]{1,8}`))
	queue := rapid.Custom(func(t *rapid.T) string {
		q := name.Draw(t, "name")
		if rapid.Bool().Draw(t, "is a subscription") {
			q += "/" + name.Draw(t, "subscription")
		}
		return q
	})
	id := rapid.OneOf(rapid.StringMatching(`[!-~]{1,20}`), rapid.SampledFrom([]string{"sub:a:ready", "job:x", "}:ready", "{b}:job:x"}))
	objects := rapid.Custom(func(t *rapid.T) object {
		o := object{prefix: rapid.SampledFrom([]string{"wb", "wb:x", "w"}).Draw(t, "prefix"), queue: queue.Draw(t, "queue")}
		roles := append([]string{"job:", "result:", "told:", "ended", "control"}, store.FixedKeys()...)
		o.role = rapid.SampledFrom(roles).Draw(t, "role")
		if strings.HasSuffix(o.role, ":") {
			o.id = id.Draw(t, "id")
		}
		return o
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := objects.Draw(t, "one"), objects.Draw(t, "other")
		if a != b && a.key(t, rdb) == b.key(t, rdb) {
			t.Fatalf("%+v and %+v share the key %s", a, b, a.key(t, rdb))
		}
	})
}

func TestKeys_BadNames(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	for _, prefix := range []string{"a{b", "a}b", "a*", "a?", "a[", "a b", "a\n", strings.Repeat("x", 65), "é"} {
		if _, err := store.New(rdb, store.Options{Prefix: prefix}); !errors.Is(err, record.ErrInvalid) {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
	s, err := store.New(rdb, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a b", "a/", "/a", "a/b/c", "a:b", "{a}", fmt.Sprintf("%0129d", 1)} {
		if _, err := s.Queue(name); !errors.Is(err, record.ErrInvalid) {
			t.Errorf("queue %q: %v", name, err)
		}
	}
}
