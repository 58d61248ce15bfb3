package main_test

import (
	"strings"
	"testing"
	"time"

	main "github.com/waybillhq/waybill/cmd/waybill"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	t.Run("a server", func(t *testing.T) {
		t.Parallel()
		server, sentinel, cluster, err := main.ParseTarget("redis://u:p%40ss@h:1/2")
		must(t, err)
		if sentinel != nil || cluster != nil || server.Addr != "h:1" || server.Password != "p@ss" || server.DB != 2 {
			t.Errorf("%+v, %+v, %+v", server, sentinel, cluster)
		}
	})
	t.Run("behind Sentinels: the user is the server's, the Sentinels' own are options", func(t *testing.T) {
		t.Parallel()
		server, o, cluster, err := main.ParseTarget(
			"redis+sentinel://u:p%3Fs%2Fs@h1,[::1]:7,h3/my%20master/3?sentinel_username=su&sentinel_password=s%40p&read_timeout=2s")
		must(t, err)
		if server != nil || cluster != nil {
			t.Error("it is something else too")
		}
		if got := strings.Join(o.SentinelAddrs, " "); got != "h1:26379 [::1]:7 h3:26379" {
			t.Errorf("Sentinels are %s", got)
		}
		if o.MasterName != "my master" || o.DB != 3 || o.Username != "u" || o.Password != "p?s/s" ||
			o.SentinelUsername != "su" || o.SentinelPassword != "s@p" || o.ReadTimeout != 2*time.Second || o.TLSConfig != nil {
			t.Errorf("%+v", o)
		}
	})
	t.Run("behind Sentinels without user, with TLS", func(t *testing.T) {
		t.Parallel()
		_, o, _, err := main.ParseTarget("rediss+sentinel://h1:1/m")
		must(t, err)
		if o.TLSConfig == nil || o.Username != "" || o.SentinelUsername != "" || o.SentinelPassword != "" || o.DB != 0 {
			t.Errorf("%+v", o)
		}
	})
	t.Run("a cluster", func(t *testing.T) {
		t.Parallel()
		server, sentinel, o, err := main.ParseTarget("rediss+cluster://u:p%40s@h1:7000,h2/0?pool_size=3")
		must(t, err)
		if server != nil || sentinel != nil {
			t.Error("it is something else too")
		}
		if got := strings.Join(o.Addrs, " "); got != "h1:7000 h2:6379" || o.Username != "u" || o.Password != "p@s" ||
			o.PoolSize != 3 || o.TLSConfig == nil {
			t.Errorf("%s, %+v", got, o)
		}
	})
	for name, url := range map[string]string{
		"of another scheme":                "redis+proxy://h",
		"without a scheme of Redis":        "http+cluster://h",
		"without a master":                 "redis+sentinel://h1,h2",
		"with a bad database":              "redis+sentinel://h1/m/x",
		"of a cluster with a database":     "redis+cluster://h1/1",
		"with an empty host":               "redis+cluster://h1,,h2",
		"with a host that is a bare IPv6":  "redis+cluster://::1",
		"with a port and no host":          "redis+cluster://:6379",
		"with a host and an empty port":    "redis+cluster://h:",
		"with an unknown option":           "redis+cluster://h?nonsense=1",
		"with hosts in two places":         "redis+cluster://h?addr=h2:1",
		"with a master in two places":      "redis+sentinel://h/m?master_name=n",
		"with the password in two places":  "redis+sentinel://u:p@h/m?password=q",
		"with a bad escape of the options": "redis+cluster://h?a=%zz",
		"with a bad escape of the user":    "redis+sentinel://%zz:p@h/m",
		"with a bad escape of the master":  "redis+sentinel://h/%zz",
	} {
		t.Run("refused: one "+name, func(t *testing.T) {
			t.Parallel()
			if _, _, _, err := main.ParseTarget(url); err == nil {
				t.Errorf("%s is read", url)
			}
		})
	}
}
