package main

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/process"
	"github.com/waybillhq/waybill/cmd/waybill/internal/webhook"
)

// httpFlags are what --http is told.
type httpFlags struct {
	url, proxy             string
	timeout                durationFlag
	headers                headersFlag
	headerFile, secretFile string
	private                bool
}

func (h *httpFlags) define(v *pflag.FlagSet) {
	v.StringVar(&h.url, "http", "", "POST each job to this `URL`")
	v.Var(&h.timeout, "http-timeout", "of one request")
	v.Var(&h.headers, "http-header", "send this header too; repeatable. Other users can read arguments: secrets belong in a file")
	v.StringVar(&h.headerFile, "http-header-file", "", "`PATH` of a file with headers, a line NAME: VALUE each")
	v.StringVar(&h.secretFile, "http-secret-file", "", "`PATH` of a file with the secret that signs requests (Standard Webhooks, whsec_…)")
	v.BoolVar(&h.private, "http-allow-private", false, "send to addresses that are not public, too: loopback, private, link-local, shared")
	v.StringVar(&h.proxy, "http-proxy", "", "send through the proxy at this `URL`, which decides what may be reached (default: none, whatever the environment says)")
}

// check checks the URL and the time.
func (h *httpFlags) check(cmd *cobra.Command) error {
	u, err := webhook.ParseURL(h.url)
	if err == nil && !h.private && h.proxy == "" {
		err = webhook.CheckHost(u)
		if err != nil {
			return usage(cmd, "--http: %v: --http-allow-private allows it", err)
		}
	}
	if err != nil {
		return usage(cmd, "--http: the URL %v", err)
	}
	if h.timeout == 0 {
		return usage(cmd, "--http-timeout is 0: above 0")
	}
	return nil
}

// sparing is how --http tries again: as ever, but not before the receiver wants it.
var sparing = webhook.AtLeast(waybill.Exponential(time.Second, time.Hour))

// proxySchemes are those that are spoken; any other would be taken for http.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// sender makes what sends jobs, and what knows whether it can.
func (a *app) sender(cmd *cobra.Command, f *workFlags, log *slog.Logger, ending <-chan struct{}) (*webhook.Sender, *process.Starts, error) {
	h := &f.http
	header, err := a.httpHeader(h)
	if err != nil {
		return nil, nil, usage(cmd, "%v", err)
	}
	secret, err := a.httpSecret(h.secretFile)
	if err != nil {
		return nil, nil, usage(cmd, "%v", err)
	}
	var proxy *url.URL
	if h.proxy != "" {
		proxy, err = url.Parse(h.proxy)
		if err != nil || proxy.Hostname() == "" || !slices.Contains(proxySchemes, proxy.Scheme) {
			return nil, nil, usage(cmd, "--http-proxy: want a URL such as http://proxy:3128, or with https, socks5 or socks5h")
		}
	}
	to, err := webhook.ParseURL(h.url)
	if err != nil {
		return nil, nil, usage(cmd, "--http: the URL %v", err)
	}
	starts := process.NewStarts(log)
	return webhook.New(webhook.Options{
		URL: to, Proxy: proxy, Timeout: time.Duration(h.timeout), Header: header, Secret: secret, AllowPrivate: h.private,
		Concurrency: f.children(), Ending: ending, Unable: starts.Fail, Able: starts.OK,
	}), starts, nil
}

// httpHeader gathers the headers of flags and file.
func (a *app) httpHeader(h *httpFlags) (http.Header, error) {
	all := map[string]string{}
	maps.Copy(all, h.headers)
	if h.headerFile != "" {
		text, err := a.secretText("--http-header-file", h.headerFile)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range strings.Lines(text) {
			n++
			line = strings.TrimSpace(line)
			name, value, ok := strings.Cut(line, ":")
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case !ok:
				return nil, fmt.Errorf("--http-header-file: line %d: want NAME: VALUE", n)
			default:
				all[name] = strings.TrimSpace(value)
			}
		}
	}
	header := http.Header{}
	for name, value := range all {
		if err := webhook.CheckHeader(name, value); err != nil {
			return nil, fmt.Errorf("--http-header: %w", err)
		}
		header.Set(name, value)
	}
	return header, nil
}

func (a *app) httpSecret(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := a.secretText("--http-secret-file", path)
	if err != nil {
		return nil, err
	}
	secret, err := webhook.ParseSecret(text)
	if err != nil {
		return nil, fmt.Errorf("--http-secret-file: %w", err)
	}
	return secret, nil
}

// secretText reads a file that may hold a secret, and warns where others may read it too.
func (a *app) secretText(flag, path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&othersRead != 0 {
		a.say("warning: other users can read %s: chmod 600 it", path)
	}
	return string(raw), nil
}
