// Command payment charges cards through a gateway that knows a charge by its key: asked twice, it charges once.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

type payment struct {
	Order string
	Cents int
}

func (p payment) JobID() string { return p.Order }

// receipt is the result of the job, for whoever waits for it.
type receipt struct{ Charge string }

var charge = waybill.DefineResult[payment, receipt]("payment.charge", waybill.KindOptions{
	Queue: "payments", Timeout: time.Minute, Retention: time.Hour, Retry: waybill.Exponential(100*time.Millisecond, time.Hour),
})

// gateway is where charges go to.
type gateway struct {
	url  string
	http *http.Client
}

// charge is the handler.
func (g gateway) charge(ctx context.Context, job *waybill.Job[payment]) (receipt, error) {
	body, err := json.Marshal(job.Args)
	if err != nil {
		return receipt{}, waybill.Dead(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.url, bytes.NewReader(body))
	if err != nil {
		return receipt{}, waybill.Dead(err)
	}
	r.Header.Set("Idempotency-Key", job.IdempotencyKey()) // the same for every attempt
	res, err := g.http.Do(r)
	if err != nil {
		return receipt{}, err // perhaps it is charged: asked again with the same key, it is not charged again
	}
	defer res.Body.Close()
	if err := meaning(res); err != nil {
		return receipt{}, err
	}
	var got receipt
	return got, json.NewDecoder(res.Body).Decode(&got)
}

// meaning makes of the gateway's answer what is to become of the job. Only what no retry can mend kills it.
func meaning(res *http.Response) error {
	err := fmt.Errorf("the gateway answered %s", res.Status)
	switch res.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusUnprocessableEntity: // 402, declined; 422, the key belongs to another charge
		return waybill.Dead(err)
	case http.StatusTooManyRequests:
		if seconds, bad := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 16); bad == nil {
			return waybill.RetryAfter(time.Duration(seconds)*time.Second, err)
		}
	}
	return err // tried again as the kind's policy says; 409 among them: an earlier attempt's charge is still under way
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	if err := pay(context.Background(), rdb, gateway{"https://gateway.example/charges", http.DefaultClient}); err != nil {
		log.Fatal(err)
	}
}

func pay(ctx context.Context, rdb *redis.Client, g gateway) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{})
	if err != nil {
		return err
	}
	charge.Handle(worker, g.charge)
	run, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(run) }()
	for _, p := range []payment{{"order-1", 900}, {"order-2", 1250}, {"order-3", 350}, {"order-4", 99}} {
		got, err := charge.Call(ctx, client, p)
		fmt.Printf("%s: %q %v\n", p.Order, got.Charge, err)
	}
	stop()
	return <-ended
}
