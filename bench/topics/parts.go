package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// rates compares a topic with one subscription and a plain queue: events in, events out.
func rates(ctx context.Context, s settings, r *rig, w io.Writer) error {
	if err := r.subscribe(ctx, 1); err != nil {
		return err
	}
	var in, queueIn, out, queueOut []float64
	for range s.rounds {
		for _, part := range []struct {
			figures *[]float64
			do      func() (float64, error)
		}{
			{&in, func() (float64, error) { return r.publish(ctx, s.events) }},
			{&queueIn, func() (float64, error) { return r.enqueue(ctx, s.events) }},
			{&out, func() (float64, error) { return r.drain(ctx, s.events, r.subscription) }},
			{&queueOut, func() (float64, error) { return r.drain(ctx, s.events, r.queue) }},
		} {
			rate, err := part.do()
			if err != nil {
				return err
			}
			*part.figures = append(*part.figures, rate)
		}
	}
	line := func(what string, a, b float64) {
		_, _ = fmt.Fprintf(w, "rates   %s: %.0f/s; plain queue: %.0f/s; ratio %.2f\n", what, a, b, a/b)
	}
	line("publish in bulk", median(in), median(queueIn))
	line("work off", median(out), median(queueOut))
	return nil
}

// bells shows what a publish costs by the number of subscriptions, each of which it wakes: each has a bell that is to be rung.
func bells(ctx context.Context, s settings, r *rig, w io.Writer) error {
	for _, n := range []int{1, 10, 64} {
		if err := r.subscribe(ctx, n); err != nil {
			return err
		}
		before, err := r.scripts(ctx)
		if err != nil {
			return err
		}
		all, err := spans(min(2000, s.events), func() error {
			_, err := r.topic.Publish(ctx, r.client, r.event)
			return err
		})
		if err != nil {
			return err
		}
		after, err := r.scripts(ctx)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "bells   %2d subscriptions: %.0f µs of Redis a publish; %s\n", n, (after-before)/float64(len(all)), told(all))
	}
	return nil
}

// scripts is how long all scripts took so far, µs of Redis.
func (r *rig) scripts(ctx context.Context) (float64, error) {
	text, err := r.rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(text, "cmdstat_evalsha:calls=")
	if !ok {
		return 0, nil // none yet
	}
	_, rest, _ = strings.Cut(rest, "usec=")
	usec, _, _ := strings.Cut(rest, ",")
	return strconv.ParseFloat(usec, 64)
}

// lag is a subscription that takes nothing while a million events come.
func lag(ctx context.Context, s settings, r *rig, w io.Writer) error {
	if err := r.subscribe(ctx, 3); err != nil {
		return err
	}
	empty, err := r.memory(ctx)
	if err != nil {
		return err
	}
	if _, err := r.publish(ctx, s.lag); err != nil {
		return err
	}
	full, err := r.memory(ctx)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "lag     %d events of %d bytes: %.0f bytes of memory each, with the window\n", s.lag, len(r.event), (full-empty)/float64(s.lag))
	stream := r.topic.Stream(r.client)
	for _, call := range []struct {
		name string
		do   func() error
	}{
		{"stats", func() error { _, err := stream.Stats(ctx); return err }},
		{"publish", func() error { _, err := r.topic.Publish(ctx, r.client, r.event); return err }},
		{"publish of 1,000", func() error { _, err := r.publish(ctx, 1000); return err }},
	} {
		all, err := spans(200, call.do)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "lag     %s: %s\n", call.name, told(all))
	}
	start := time.Now()
	cut, err := stream.Trim(ctx, "9999999999999-0")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "lag     cut of %d entries by hand: %v\n", cut, time.Since(start).Round(time.Millisecond))
	return nil
}

// memory is what Redis uses, in bytes.
func (r *rig) memory(ctx context.Context) (float64, error) {
	text, err := r.rdb.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(text, "used_memory:")
	used, _, _ := strings.Cut(rest, "\r")
	return strconv.ParseFloat(used, 64)
}
