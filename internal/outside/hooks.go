package outside

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"
)

// Hooks receives webhooks, one a webhook-id, signed as in Standard Webhooks. Busy is its 503 with Retry-After; Refused
// is 410, nobody wants them any more. A wrong signature is 401.
type Hooks struct {
	*site
	secret []byte
}

// StartHooks starts a receiver on a free port of 127.0.0.1.
func StartHooks(ctx context.Context, secret []byte, o Options) (*Hooks, error) {
	s, mux, err := startSite(ctx, o)
	if err != nil {
		return nil, err
	}
	h := &Hooks{s, secret}
	mux.HandleFunc("POST /hooks", h.receive)
	return h, nil
}

// URL is where webhooks are sent to.
func (h *Hooks) URL() string { return h.url + "/hooks" }

// signedAtMost is how far a signature's time may be off.
const signedAtMost = 5 * time.Minute

func (h *Hooks) receive(w http.ResponseWriter, r *http.Request) {
	b, ok := body(w, r)
	if !ok {
		return
	}
	id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	mac := hmac.New(sha256.New, h.secret)
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(b)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > signedAtMost ||
		id == "" || !hmac.Equal([]byte(want), []byte(r.Header.Get("webhook-signature"))) {
		http.Error(w, "the signature does not fit", http.StatusUnauthorized)
		return
	}
	_, hears := h.answer(w, r, id, string(b))
	switch {
	case hears:
		w.WriteHeader(http.StatusNoContent)
	case h.o.Trouble[id] == Refused:
		http.Error(w, "gone", http.StatusGone)
	}
}
