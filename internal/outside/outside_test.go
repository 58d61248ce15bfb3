package outside_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/smtp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/waybillhq/waybill/internal/outside"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// post sends a body with headers given as name, value, name, value, and gives the status, 0 where none came.
func post(t *testing.T, url, body string, headers ...string) (status int, after string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return 0, ""
	}
	must(t, res.Body.Close())
	return res.StatusCode, res.Header.Get("Retry-After")
}

func TestGateway(t *testing.T) {
	t.Parallel()
	g, err := outside.StartGateway(t.Context(), outside.Options{Trouble: map[string]outside.Trouble{
		"busy": outside.Busy, "lost": outside.LostReply, "declined": outside.Refused,
	}})
	must(t, err)
	defer g.Close()
	for _, call := range []struct {
		name, key, body string
		status          int
	}{
		{"busy is told at first", "busy", "1", 503},
		{"and charged when it comes again", "busy", "1", 200},
		{"a reply is lost after the charge", "lost", "1", 0},
		{"and the charge is not made again", "lost", "1", 200},
		{"a declined card is declined", "declined", "1", 402},
		{"and stays so", "declined", "1", 402},
		{"another body under the same key is refused", "busy", "2", 422},
		{"a charge without key is refused", "", "1", 400},
	} {
		if got, _ := post(t, g.URL(), call.body, "Idempotency-Key", call.key); got != call.status {
			t.Errorf("%s: status %d, want %d", call.name, got, call.status)
		}
	}
	want := outside.Counts{Effects: 2, Keys: 2, Repeats: 2, Busy: 1, Lost: 1, Refused: 2}
	if got := g.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestHooks(t *testing.T) {
	t.Parallel()
	h, err := outside.StartHooks(t.Context(), []byte("secret"), outside.Options{Trouble: map[string]outside.Trouble{
		"busy": outside.Busy, "gone": outside.Refused,
	}})
	must(t, err)
	defer h.Close()
	send := func(id, secret string, at time.Time) (int, string) {
		stamp := strconv.FormatInt(at.Unix(), 10)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(id + "." + stamp + "." + "{}"))
		sign := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		return post(t, h.URL(), "{}", "webhook-id", id, "webhook-timestamp", stamp, "webhook-signature", sign)
	}
	for _, call := range []struct {
		name, id, secret string
		age              time.Duration
		status           int
		after            string
	}{
		{"a signed one is taken", "a", "secret", 0, 204, ""},
		{"a wrong signature is not", "b", "guessed", 0, 401, ""},
		{"an old signature is not", "c", "secret", time.Hour, 401, ""},
		{"busy is told, and for how long", "busy", "secret", 0, 503, "1"},
		{"gone is told", "gone", "secret", 0, 410, ""},
	} {
		if got, after := send(call.id, call.secret, time.Now().Add(-call.age)); got != call.status || after != call.after {
			t.Errorf("%s: status %d, retry after %q", call.name, got, after)
		}
	}
	if done := h.Done(); len(done) != 1 || done["a"] != "{}" {
		t.Errorf("it took %v", done)
	}
}

func TestMail(t *testing.T) {
	t.Parallel()
	m, err := outside.StartMail(t.Context(), outside.Options{Trouble: map[string]outside.Trouble{
		"busy@x": outside.Busy, "lost@x": outside.LostReply,
	}})
	must(t, err)
	defer m.Close()
	for _, mail := range []struct{ name, head, says string }{
		{"a mail is taken", "Message-ID: <a@x>\r\n", ""},
		{"once more, it is dropped quietly", "Message-ID: <a@x>\r\n", ""},
		{"busy is told at first", "Message-ID: <busy@x>\r\n", "451"},
		{"then the mail is taken", "Message-ID: <busy@x>\r\n", ""},
		{"an answer is lost", "Message-ID: <lost@x>\r\n", "EOF"},
		{"a mail without Message-ID is refused", "Subject: none\r\n", "550"},
	} {
		err := smtp.SendMail(m.Addr(), nil, "a@x.test", []string{"b@x.test"}, []byte(mail.head+"\r\n.\r\nbody\r\n"))
		if (err == nil) != (mail.says == "") || err != nil && !strings.Contains(err.Error(), mail.says) {
			t.Errorf("%s: %v", mail.name, err)
		}
	}
	want := outside.Counts{Effects: 3, Keys: 3, Repeats: 1, Busy: 1, Lost: 1}
	if got := m.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if !strings.HasSuffix(m.Done()["a@x"], "\n\n.\nbody\n") {
		t.Errorf("the mail is %q", m.Done()["a@x"])
	}
}

func TestBook_Held(t *testing.T) {
	t.Parallel()
	trouble := map[string]outside.Trouble{"k": outside.Held}
	g, err := outside.StartGateway(t.Context(), outside.Options{Trouble: trouble})
	must(t, err)
	defer g.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL(), strings.NewReader("1"))
	must(t, err)
	r.Header.Set("Idempotency-Key", "k")
	r.Header.Set("User-Agent", "worker-7")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ended := make(chan error, 1)
	go func() {
		res, err := client.Do(r)
		if err == nil {
			err = res.Body.Close()
		}
		ended <- err
	}()
	if v := <-g.Held(); v != (outside.Visit{Key: "k", Caller: "worker-7"}) {
		t.Errorf("held %+v", v)
	}
	if g.Done()["k"] != "1" {
		t.Error("the effect is not there when it is told")
	}
	client.CloseIdleConnections()
	must(t, g.Close())
	if err := <-ended; err == nil {
		t.Error("a held call was answered")
	}
}
