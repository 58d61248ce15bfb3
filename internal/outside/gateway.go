package outside

import (
	"context"
	"encoding/json"
	"net/http"
)

// Gateway takes payments: POST /charges with an Idempotency-Key. A key that comes again with the same body is answered
// as the first time, and with another one refused (422). Busy is its 503; Refused is 402, the card is declined.
type Gateway struct{ *site }

// StartGateway starts a gateway on a free port of 127.0.0.1.
func StartGateway(ctx context.Context, o Options) (*Gateway, error) {
	s, mux, err := startSite(ctx, o)
	if err != nil {
		return nil, err
	}
	g := &Gateway{s}
	mux.HandleFunc("POST /charges", g.charge)
	return g, nil
}

// URL is where charges are sent to.
func (g *Gateway) URL() string { return g.url + "/charges" }

func (g *Gateway) charge(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	b, ok := body(w, r)
	if !ok {
		return
	}
	if key == "" || !json.Valid(b) {
		http.Error(w, "an Idempotency-Key and a JSON body are required", http.StatusBadRequest)
		return
	}
	first, hears := g.answer(w, r, key, string(b))
	switch {
	case hears && first != string(b):
		http.Error(w, "the key belongs to another charge", http.StatusUnprocessableEntity)
	case hears:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"charge": "ch/" + key})
	case g.o.Trouble[key] == Refused:
		http.Error(w, "card declined", http.StatusPaymentRequired)
	}
}
