package webhook

import (
	"net/http"
	"time"

	"github.com/waybillhq/waybill"
)

// Sign gives the signature of a message at a time in seconds since 1970.
func Sign(secret []byte, id string, at int64, body []byte) string {
	return sign(secret, id, time.Unix(at, 0), body)
}

// Header are the headers of an attempt's request, without deadline.
func (s *Sender) Header(a *waybill.Attempt) http.Header {
	return s.header(a, time.Time{}, time.Unix(0, 0))
}
