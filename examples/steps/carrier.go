package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
)

// carrier takes parcels, one a call: it knows no idempotency keys. It can be asked for the parcel of a reference.
type carrier struct {
	server *httptest.Server
	mu     sync.Mutex
	refs   []string
}

func startCarrier() *carrier {
	c := &carrier{}
	c.server = httptest.NewServer(c)
	return c
}

// sent is the number of parcels.
func (c *carrier) sent() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.refs)
}

func (c *carrier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ref := r.Header.Get("Idempotency-Key") // to the carrier it is a reference, no more
	if r.Method == http.MethodPost {
		c.refs = append(c.refs, ref)
	}
	for _, known := range c.refs {
		if known == ref {
			_ = json.NewEncoder(w).Encode(shipped{"parcel of " + ref})
			return
		}
	}
	http.NotFound(w, r)
}
