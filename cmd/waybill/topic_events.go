package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
	"github.com/waybillhq/waybill/topic"
)

// eventsShown is how many events are shown where nothing else is said.
const eventsShown = 100

// topicEvents is what `waybill topic events` is told.
type topicEvents struct {
	from, to placeFlag
	limit    limitFlag
}

func (a *app) topicEventsCommand() *cobra.Command {
	f := &topicEvents{limit: limitFlag{n: eventsShown}}
	cmd := &cobra.Command{
		Use: "events TOPIC", Short: "Look at events that the stream holds", Args: between(1, 1),
		Long: `Events prints the events that the stream holds, in their order, a line each: their number, the ID of their entry (which is
a PLACE), their ID, how long ago they were published, kind and payload. It changes nothing. With --json it prints an object for
each, with the whole payload and the headers.

--from and --to are both included: ` + placeText + `.`,
		Example: "  waybill topic events orders --from 10m\n  waybill topic events orders --limit unlimited --json > orders.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.lookAtTopic(cmd, args[0], func(ctx context.Context, t *topic.Stream) error { return a.topicEvents(ctx, t, args[0], f) })
		},
		ValidArgsFunction: a.completeTopic,
	}
	v := cmd.Flags()
	v.Var(&f.from, "from", "events from there on (default: the first)")
	v.Var(&f.to, "to", "events up to there (default: the last)")
	v.Var(&f.limit, "limit", "so many at most")
	completePlaces(cmd, "from")
	completePlaces(cmd, "to")
	return cmd
}

// eventObject is the object of an event.
type eventObject struct {
	Topic         string            `json:"topic"`
	Entry         string            `json:"entry"`
	Number        int64             `json:"number"`
	ID            string            `json:"id"`
	PublishedAt   *string           `json:"published_at"`
	Kind          string            `json:"kind"`
	Payload       *string           `json:"payload"`
	PayloadBase64 *string           `json:"payload_base64"`
	Headers       map[string]string `json:"headers"`
	Version       int               `json:"version"`
}

func eventObjectOf(of string, e topic.Event) eventObject {
	o := eventObject{
		Topic: of, Entry: e.Entry, Number: e.Number, ID: e.ID, PublishedAt: stampOf(e.At), Kind: e.Kind, Headers: e.Headers, Version: e.Version,
	}
	if o.Headers == nil {
		o.Headers = map[string]string{}
	}
	o.Payload, o.PayloadBase64 = textOrBase64(append([]byte{}, e.Payload...))
	return o
}

func (a *app) topicEvents(ctx context.Context, t *topic.Stream, name string, f *topicEvents) error {
	s, err := t.Stats(ctx)
	if err != nil {
		return err
	}
	from, to := anchored(f.from.from(s.At), s), anchored(f.to.to(s.At), s)
	if from != "" && to != "" && behind(from, to) {
		return &record.InputError{Field: "from", Why: fmt.Sprintf("is %s, behind --to, which is %s", f.from.text, f.to.text)}
	}
	rows, n := [][]cell{heads("NUMBER", "ENTRY", "ID", "AGE", "KIND", "PAYLOAD")}, int64(0)
	more := ""
	err = t.Events(ctx, from, to, func(e topic.Event) error {
		if f.limit.n != waybill.Unlimited && n >= f.limit.n {
			more = e.Entry
			return errEnough
		}
		n++
		if a.json {
			return printJSON(a.stdout, eventObjectOf(name, e))
		}
		rows = append(rows, eventRow(e, s.At))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if more != "" {
		defer a.say("there are more: --from %s, or --limit N", more)
	}
	switch {
	case a.json:
		return nil
	case n == 0 && more == "":
		a.say("topic %s holds no such event", name)
		return nil
	}
	return a.printRows(fit(rows, width(a.stdout)))
}

// eventRow is the line of an event.
func eventRow(e topic.Event, now time.Time) []cell {
	return []cell{
		number(e.Number, ""),
		{text: e.Entry},
		{text: oneLine(e.ID)},
		{text: span(max(0, now.Sub(e.At)))},
		{text: oneLine(e.Kind)},
		{text: oneLine(content(e.Payload))},
	}
}
