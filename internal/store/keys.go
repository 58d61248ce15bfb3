package store

import (
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/record"
)

// DefaultPrefix stands before every key unless another is set.
const DefaultPrefix = "wb"

// maxPrefix bounds a prefix in bytes, so that keys stay short.
const maxPrefix = 64

// fixedKeys are the keys of a queue that do not name a job, in the order in which every
// script declares them. lua/head.lua gives them their names in the same order.
var fixedKeys = [...]string{
	"ready", "urgent", "suspects", "parked", "due", "retry", "overflow", "leases", "runs", "claims", "cancels", "faults",
	"progress", "dead", "done", "settled:g0", "settled:g1", "settled:n0", "settled:n1", "meta", "stats", "bell",
}

// checkPrefix refuses what would move the hash tag or reach into patterns.
func checkPrefix(prefix string) error {
	if prefix == "" || len(prefix) > maxPrefix {
		return &record.InputError{Field: "prefix", Why: fmt.Sprintf("is %d bytes long: from 1 to %d", len(prefix), maxPrefix)}
	}
	for _, c := range []byte(prefix) {
		if c <= ' ' || c > '~' || strings.ContainsRune(`{}*?[]\`, rune(c)) {
			return &record.InputError{Field: "prefix", Why: fmt.Sprintf("%q holds %q: printable ASCII without {}*?[]\\ only", prefix, c)}
		}
	}
	return nil
}

// topicWord stands before the name of a topic where jobs are addressed: "topic:orders".
const topicWord = "topic:"

// Address is where events of a topic are sent: what stands for the name of a queue.
func Address(topic string) string { return topicWord + topic }

// TopicOf is the topic that an address names; ok is false where it names a queue.
func TopicOf(address string) (topic string, ok bool) { return strings.CutPrefix(address, topicWord) }

// tag is what stands before every key of a queue. The part in braces decides the cluster slot.
// A name "topic/subscription" is the queue of a subscription, under its topic's slot; "topic:orders" a topic itself.
func tag(prefix, name string) string {
	if topic, ok := TopicOf(name); ok {
		return prefix + ":{" + topic + "}:" + topicWord
	}
	if topic, subscription, ok := strings.Cut(name, "/"); ok {
		return prefix + ":{" + topic + "}:sub:" + subscription + ":"
	}
	return prefix + ":{" + name + "}:"
}

// CheckQueue checks the name of a queue, or of a subscription: "topic/subscription".
func CheckQueue(name string) error {
	topic, subscription, ok := strings.Cut(name, "/")
	if err := record.CheckName("queue", topic); err != nil || !ok {
		return err
	}
	return record.CheckName("subscription", subscription)
}

// CheckAddress checks the name of a queue or subscription, or the address of a topic.
func CheckAddress(name string) error {
	if topic, ok := TopicOf(name); ok {
		return CheckTopic(topic)
	}
	return CheckQueue(name)
}

// CheckTopic checks the name of a topic.
func CheckTopic(name string) error { return record.CheckName("topic", name) }

// registryKey is the set of the names of all queues under a prefix.
func registryKey(prefix string) string { return prefix + ":queues" }

// topicsKey is the set of the names of all topics under a prefix.
func topicsKey(prefix string) string { return prefix + ":topics" }
