package demo

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill"
)

// postHook sends a signed webhook.
func (w *worker) postHook(ctx context.Context, job *waybill.Job[event]) error {
	body := []byte(job.Args.Body)
	return w.post(ctx, job.Args.URL, body, signed(job.IdempotencyKey(), body))
}

// hookSecret is known to both sides.
const hookSecret = "a secret of the demo"

// signed are the headers of a webhook, as in Standard Webhooks.
func signed(id string, body []byte) http.Header {
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(id + "." + at + "."))
	mac.Write(body)
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return h
}

func (w *worker) post(ctx context.Context, url string, body []byte, h http.Header) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return waybill.Dead(err) // the URL is none
	}
	r.Header = h
	r.Header.Set("User-Agent", w.Name)
	r.Header.Set("Content-Type", "application/json")
	res, err := w.http.Do(r)
	if err != nil {
		return err // perhaps it was done: asked again with the same key, it is not done again
	}
	defer res.Body.Close()
	return meaning(res)
}

// meaning makes of the other side's answer what is to become of the job.
func meaning(res *http.Response) error {
	err := fmt.Errorf("%s answered %s", res.Request.URL, res.Status)
	switch res.StatusCode {
	case http.StatusOK, http.StatusNoContent:
		return nil
	case http.StatusGone, http.StatusUnprocessableEntity:
		return waybill.Dead(err)
	}
	if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil {
		return waybill.RetryAfter(time.Duration(seconds)*time.Second, err)
	}
	return err // tried again as the kind's policy says
}
