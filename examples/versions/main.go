// Command versions changes the shape of a payload while jobs of the old shape wait.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

// What was deployed last year. Its jobs may still wait.
type contactV1 struct{ Name string }

var syncContactV1 = waybill.Define[contactV1]("contact.sync", waybill.KindOptions{Version: 1})

// What is deployed today: the name is in two parts.
type contact struct{ First, Last string }

var syncContact = defineSyncContact()

func defineSyncContact() *waybill.Kind[contact] {
	k := waybill.Define[contact]("contact.sync", waybill.KindOptions{Version: 2})
	waybill.AcceptOld(k, 1, func(old contactV1) (contact, error) {
		first, last, ok := strings.Cut(old.Name, " ")
		if !ok {
			return contact{}, errors.New("a name of one part") // the job is dead, its payload kept
		}
		return contact{first, last}, nil
	})
	return k
}

func main() {
	if err := versions(context.Background(), redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})); err != nil {
		log.Fatal(err)
	}
}

func versions(ctx context.Context, rdb *redis.Client) error {
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return err
	}
	if _, err := syncContactV1.Enqueue(ctx, client, contactV1{"Ada Lovelace"}); err != nil {
		return err
	}
	if _, err := syncContact.Enqueue(ctx, client, contact{"Grace", "Hopper"}, waybill.ID("last")); err != nil {
		return err
	}
	worker, err := waybill.NewWorker(client, waybill.WorkerOptions{Concurrency: 1})
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	syncContact.Handle(worker, func(_ context.Context, job *waybill.Job[contact]) error {
		fmt.Printf("%s, %s (version %d)\n", job.Args.Last, job.Args.First, job.Version)
		if job.ID == "last" {
			stop()
		}
		return nil
	})
	return worker.Run(run)
}
