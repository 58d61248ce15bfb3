package database

import (
	"net/url"
	"strings"
)

const hidden = "xxxxx"

// secretParameters are the parameters of the drivers that hold a secret.
func secretParameters() []string { return []string{"password", "sslpassword"} }

// Redact returns the URL with xxxxx in place of its passwords, for messages and logs. Of a URL
// that Open can't read only the scheme is left, or nothing.
func Redact(rawURL string) string {
	name, _, found := strings.Cut(rawURL, ":")
	if _, known := schemeOf(strings.ToLower(name)); !found || !known {
		return "…"
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return name + ":…"
	}
	if _, ok := u.User.Password(); ok {
		u.User = url.UserPassword(u.User.Username(), hidden)
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		key, _, _ := strings.Cut(pair, "=")
		if isSecret(key) {
			pairs[i] = key + "=" + hidden
		}
	}
	u.RawQuery = strings.Join(pairs, "&")
	return u.String()
}

// isSecret takes a key that does not decode for a secret.
func isSecret(key string) bool {
	key, err := url.QueryUnescape(key)
	if err != nil {
		return true
	}
	for _, name := range secretParameters() {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// secretsOf returns the passwords in a URL, decoded and as written.
func secretsOf(u *url.URL) []string {
	var all []string
	add := func(secret string) {
		if secret != "" {
			all = append(all, secret, url.QueryEscape(secret), url.PathEscape(secret))
		}
	}
	if p, ok := u.User.Password(); ok {
		add(p)
	}
	for key, values := range u.Query() {
		if !isSecret(key) {
			continue
		}
		for _, v := range values {
			add(v)
		}
	}
	return all
}

// told is an error on one line, as messages here are.
type told struct {
	text  string
	cause error // nil where its own text has a secret
}

func (e *told) Error() string { return e.text }
func (e *told) Unwrap() error { return e.cause }

// conceal returns err on one line and without the secrets: drivers may quote one, and pgx gives each address of a
// host a line.
func conceal(err error, secrets []string) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	e := &told{cause: err}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			text, e.cause = strings.ReplaceAll(text, secret, hidden), nil
		}
	}
	e.text = text
	return e
}
