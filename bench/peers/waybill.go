package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/waybillhq/waybill"
)

// poolSize of a client that has to serve 50 producers and a worker.
const poolSize = 110

// waybillQueue is Waybill through its public API.
type waybillQueue struct {
	rdb    *redis.Client
	client *waybill.Client
	noop   *waybill.Kind[[]byte]
}

func openWaybill(s *server) (contender, error) {
	rdb := s.connect(poolSize)
	client, err := waybill.NewClient(rdb, waybill.ClientOptions{})
	if err != nil {
		return nil, err
	}
	noop := waybill.Define[[]byte]("bench.noop", waybill.KindOptions{})
	return &waybillQueue{rdb: rdb, client: client, noop: noop}, nil
}

func (w *waybillQueue) enqueue(ctx context.Context, payload []byte) error {
	_, err := w.noop.Enqueue(ctx, w.client, payload)
	return err
}

func (w *waybillQueue) enqueueMany(ctx context.Context, payloads [][]byte) error {
	_, err := w.noop.EnqueueMany(ctx, w.client, payloads)
	return err
}

func (w *waybillQueue) work(ctx context.Context, o workOptions) error {
	worker, err := waybill.NewWorker(w.client, waybill.WorkerOptions{Concurrency: o.concurrency})
	if err != nil {
		return err
	}
	w.noop.Handle(worker, func(_ context.Context, job *waybill.Job[[]byte]) error {
		o.handle(job.Args)
		return nil
	})
	return worker.Run(ctx)
}

func (w *waybillQueue) left(ctx context.Context) (int, error) {
	stats, err := w.client.Queue(waybill.DefaultQueue).Stats(ctx)
	return int(stats.Live()), err
}

func (w *waybillQueue) ended(ctx context.Context) (int, bool, error) {
	stats, err := w.client.Queue(waybill.DefaultQueue).Stats(ctx)
	return int(stats.Completed), true, err
}

func (w *waybillQueue) close() error {
	if err := w.client.Close(); err != nil {
		return err
	}
	return w.rdb.Close()
}
