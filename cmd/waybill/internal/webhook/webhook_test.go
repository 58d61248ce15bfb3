package webhook_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/webhook"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"} {
		if !webhook.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
	for _, a := range []string{
		"0.0.0.0", "127.0.0.1", "127.255.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200",
		"169.254.169.254", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "203.0.113.1",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1", "2001::1", "::127.0.0.1",
		"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1",
		"2002:7f00:1::", "2002:a9fe:a9fe::1",
	} {
		if webhook.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is taken for a public address", a)
		}
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"http://example.com", "https://example.com:8443/a?b=c", "http://[2606:4700::1111]/"} {
		if _, err := webhook.ParseURL(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "example.com", "ftp://example.com", "http://", "http:///path", "https://user:secret@example.com", "http://a b/\x7fsecret"} {
		if _, err := webhook.ParseURL(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCheckHost(t *testing.T) {
	t.Parallel()
	for host, fine := range map[string]bool{
		"example.com": true, "1.1.1.1": true, "localhost": false, "127.0.0.1:80": false, "[::1]": false, "[::ffff:10.0.0.1]:80": false,
	} {
		if err := webhook.CheckHost(&url.URL{Host: host}); (err == nil) != fine {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestParseSecret(t *testing.T) {
	t.Parallel()
	got, err := webhook.ParseSecret(" whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n")
	if err != nil || len(got) != 24 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, bad := range []string{"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_MfKQ", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS*"} {
		if _, err := webhook.ParseSecret(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad[len(bad)-4:]+"x") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCheckHeader(t *testing.T) {
	t.Parallel()
	for _, good := range [][2]string{{"Authorization", "Bearer x"}, {"X-Team", ""}, {"Content-Type", "text/plain"}} {
		if err := webhook.CheckHeader(good[0], good[1]); err != nil {
			t.Errorf("%s: %v", good[0], err)
		}
	}
	for _, bad := range [][2]string{
		{"", "x"},
		{"a b", "x"},
		{"a:b", "x"},
		{"Idempotency-Key", "x"},
		{"waybill-token", "x"},
		{"webhook-id", "x"},
		{"Host", "x"},
		{"X-A", "secret\r\nX-B: c"},
		{"X-A", "secrét"},
	} {
		if err := webhook.CheckHeader(bad[0], bad[1]); err == nil || strings.Contains(err.Error(), "secr") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestSign takes the example of the Standard Webhooks libraries.
func TestSign(t *testing.T) {
	t.Parallel()
	secret, err := webhook.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := webhook.Sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, []byte(`{"test": 2432232314}`))
	if got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("signature is %s", got)
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	s := webhook.New(webhook.Options{})
	t.Run("an event is told, and keyed by itself", func(t *testing.T) {
		t.Parallel()
		h := s.Header(&waybill.Attempt{
			ID: "again/e 1", Queue: "orders/billing", Kind: "orders", Scope: "orders/billing", Event: "e 1", Replay: "again",
		})
		for name, want := range map[string]string{
			"Waybill-Event": "e%201", "Waybill-Replay": "again", "Idempotency-Key": "orders/billing/e%201",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	})
	t.Run("a job that is no event's tells of none", func(t *testing.T) {
		t.Parallel()
		h := s.Header(&waybill.Attempt{ID: "a", Queue: "q", Kind: "k"})
		for _, name := range []string{"Waybill-Event", "Waybill-Replay"} {
			if got, there := h[name]; there {
				t.Errorf("%s is %q", name, got)
			}
		}
	})
}
