package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/examples/internal/private"
	"github.com/waybillhq/waybill/internal/outside"
)

func Example() {
	rdb, end := private.Redis()
	defer end()
	server, err := outside.StartGateway(context.Background(), outside.Options{Trouble: map[string]outside.Trouble{
		"payment.charge/order-2": outside.LostReply,
		"payment.charge/order-3": outside.Refused,
		"payment.charge/order-4": outside.Busy,
	}})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	if err := pay(context.Background(), rdb, gateway{server.URL(), http.DefaultClient}); err != nil {
		fmt.Println(err)
	}
	got := server.Counts()
	fmt.Printf("%d charges for %d keys; %d came twice\n", got.Effects, got.Keys, got.Repeats)
	// Output:
	// order-1: "ch/payment.charge/order-1" <nil>
	// order-2: "ch/payment.charge/order-2" <nil>
	// order-3: "" job order-3 in queue payments ended dead: the gateway answered 402 Payment Required
	// order-4: "ch/payment.charge/order-4" <nil>
	// 3 charges for 3 keys; 1 came twice
}

func TestMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		status  int
		after   string
		outcome waybill.AttemptOutcome
		delay   time.Duration
	}{
		{"charged is done", 200, "", waybill.AttemptCompleted, 0},
		{"too many requests wait as they are told", 429, "7", waybill.AttemptRetry, 7 * time.Second},
		{"and by the policy where they are told nothing", 429, "", waybill.AttemptRetry, -1},
		{"a broken gateway is tried again", 502, "", waybill.AttemptRetry, -1},
		{"a declined card is dead", 402, "", waybill.AttemptDead, 0},
		{"a key of another charge is dead", 422, "", waybill.AttemptDead, 0},
		{"a key whose charge is still under way is tried again", 409, "", waybill.AttemptRetry, -1},
		{"a credential that is out of date is tried again", 401, "", waybill.AttemptRetry, -1},
		{"a time that is none is the policy's", 429, "-7", waybill.AttemptRetry, -1},
	} {
		w := httptest.NewRecorder()
		w.Header().Set("Retry-After", c.after)
		w.WriteHeader(c.status)
		outcome, delay := waybill.Steers(meaning(w.Result()))
		if outcome != c.outcome || (delay < 0) != (c.delay < 0) || c.delay >= 0 && delay != c.delay {
			t.Errorf("%s: %s after %v", c.name, outcome, delay)
		}
	}
}
