// Package nemesis holds the long runs of the fault programme: producers, workers with receipts, waiters, relays, publishers and
// subscribers, each a process of its own, against one Redis, with faults at random; then all is healed, worked off, and held
// against every promise.
package nemesis
