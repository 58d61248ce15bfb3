package main

import (
	"context"
	"fmt"
	"time"

	"github.com/waybillhq/waybill"
)

// until looks at the queue until it is as wished, and shows how far it is.
func (d *demo) until(ctx context.Context, wished func(waybill.QueueStats) (bool, error)) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	shown := time.Now()
	for {
		s, err := d.client.Queue(demoQueue).Stats(ctx)
		if err != nil {
			return err
		}
		if yes, err := wished(s); yes || err != nil {
			d.wipe()
			return err
		}
		if time.Since(shown) >= d.showEvery() {
			shown = time.Now()
			d.progress(s)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.workers[1].Done():
			return fmt.Errorf("worker 2 ended: %s", d.workers[1].Output())
		case <-look.C:
		}
	}
}

func (d *demo) showEvery() time.Duration {
	if isTerminal(d.stdout) {
		return 100 * time.Millisecond
	}
	return time.Second
}

func (d *demo) progress(s waybill.QueueStats) {
	d.wipe()
	fmt.Fprintf(d.stdout, "          %d of %d done, %d ready, %d active, %d waiting to be tried again", s.Completed, s.Accepted,
		s.Ready, s.Active, s.Retry)
	if !isTerminal(d.stdout) {
		fmt.Fprintln(d.stdout)
	}
}

func (d *demo) wipe() {
	if isTerminal(d.stdout) {
		fmt.Fprint(d.stdout, clearLine)
	}
}
