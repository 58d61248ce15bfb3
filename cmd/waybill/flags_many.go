package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// headersFlag gathers headers, NAME=VALUE.
type headersFlag map[string]string

func (h *headersFlag) String() string { return "" }
func (h *headersFlag) Type() string   { return "NAME=VALUE" }

func (h *headersFlag) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if _, twice := (*h)[name]; !ok || twice {
		return errors.New("want NAME=VALUE, each name once")
	}
	*h = maps.Clone(*h)
	if *h == nil {
		*h = headersFlag{}
	}
	(*h)[name] = value
	return nil
}

// queuesFlag gathers queues, each with its concurrency: NAME or NAME=N.
type queuesFlag []waybill.QueueOptions

func (q *queuesFlag) String() string { return "" }
func (q *queuesFlag) Type() string   { return "NAME[=N]" }

func (q *queuesFlag) Set(s string) error {
	name, number, given := strings.Cut(s, "=")
	o := waybill.QueueOptions{Name: name}
	if given {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return errors.New("want NAME, or NAME=N with N from 1 on")
		}
		o.Concurrency = n
	}
	if name == "" || slices.ContainsFunc(*q, func(o waybill.QueueOptions) bool { return o.Name == name }) {
		return errors.New("want a name, each once")
	}
	*q = append(*q, o)
	return nil
}

// subscriptionsFlag gathers subscriptions, each with its concurrency: TOPIC/NAME or TOPIC/NAME=N.
type subscriptionsFlag struct{ queuesFlag }

func (s *subscriptionsFlag) Type() string { return "TOPIC/NAME[=N]" }

func (s *subscriptionsFlag) Set(text string) error {
	name, _, _ := strings.Cut(text, "=")
	if _, err := parseSubscription(name); err != nil {
		return err
	}
	return s.queuesFlag.Set(text)
}

// kindsFlag gathers kinds.
type kindsFlag []string

func (k *kindsFlag) String() string { return "" }
func (k *kindsFlag) Type() string   { return "KIND" }

func (k *kindsFlag) Set(s string) error {
	if err := record.CheckName("kind", s); err != nil {
		return err
	}
	if slices.Contains(*k, s) {
		return fmt.Errorf("kind %s is given twice", s)
	}
	*k = append(*k, s)
	return nil
}

// text names the queues, each with its concurrency: its own, or n.
func (q queuesFlag) text(n int) string {
	var parts []string
	for _, o := range q {
		parts = append(parts, fmt.Sprintf("%s=%d", o.Name, cmp.Or(o.Concurrency, n)))
	}
	return strings.Join(parts, " ")
}

// text names the kinds, for people.
func (k *kindsFlag) text() string {
	if len(*k) == 0 {
		return "every kind"
	}
	return strings.Join(*k, ",")
}
