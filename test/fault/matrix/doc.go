// Package matrix holds the crash-point matrix of the fault programme: every named boundary of producer, waiter, worker, relay and
// subscriber, and at each of them every fault. A cell is one boundary and one fault, on a Redis of its own, and counts only if the
// fault fired there with work in flight.
package matrix
