package main

import (
	"context"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/cmd/waybill/internal/health"
)

// pulse is a worker's --health. The nil one does nothing.
type pulse struct {
	on     net.Listener
	watch  *health.Watch
	server *health.Server
	worker *waybill.Worker
}

// newPulse listens, and answers nothing yet; nil where nobody asks.
func (f *workFlags) newPulse(cmd *cobra.Command, c *waybill.Client, unable func() error) (*pulse, error) {
	if f.health == "" {
		return nil, nil
	}
	var listen net.ListenConfig
	on, err := listen.Listen(cmd.Context(), "tcp", f.health)
	if err != nil {
		return nil, usage(cmd, "--health: %v: give HOST:PORT or :PORT, free on this machine", err)
	}
	p := &pulse{on: on}
	p.watch = health.New(health.Options{
		Queues: f.each(),
		Stats: func(ctx context.Context, queue string) (waybill.QueueStats, error) {
			return dueStats(ctx, c, waybill.QueueOptions{Name: queue})
		},
		Running: func() []waybill.RunningAttempt { return p.worker.Running() },
		Unable:  unable,
	})
	return p, nil
}

func (p *pulse) observe(e waybill.Event) {
	if p != nil {
		p.watch.Observe(e)
	}
}

// start answers from now on, and says where.
func (p *pulse) start(w *waybill.Worker, log *slog.Logger) {
	if p == nil {
		return
	}
	p.worker = w
	p.server = p.watch.Serve(p.on)
	log.Info("health is told", slog.String(keyAddr, p.on.Addr().String()))
}

// rest says that the worker claims no more.
func (p *pulse) rest() {
	if p != nil {
		p.watch.Rest()
	}
}

func (p *pulse) close() error {
	switch {
	case p == nil:
		return nil
	case p.server == nil:
		return p.on.Close()
	}
	return p.server.Close()
}
