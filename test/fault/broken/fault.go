package broken

import (
	"slices"
	"time"
)

// Fault is one rule left out.
type Fault struct {
	Name   string
	Breaks string // what it does, as a sentence
	Edits  []Edit
	Caught []Cell // by each of these
}

// Edit changes one place of a file. In Go, IS_BROKEN in New stands for the condition that this fault is awake; in Lua, New
// takes the place of Old where it is.
type Edit struct {
	File string // within the module, with slashes
	Old  string // stands there once
	New  string
}

// Cell is the test that catches a fault. Without any fault it passes.
type Cell struct {
	Tier    string // as docs/proof.md names them; "facts" is a test of single facts
	Package string // of the test, as "./internal/store"
	Run     string // as go test takes it
	Size    string // WAYBILL_FAULTS; "" = "check"
	Seed    string // WAYBILL_SEED; "" = any
	Says    string // a regular expression of what it says when it catches: which promise was broken; "" = it fails
	Quick   bool   // it catches within some seconds: a short run may play it
	Within  time.Duration
}

// All gives every fault.
func All() []Fault {
	return slices.Concat(
		tokenFaults(), claimFaults(), endFaults(), enqueueFaults(), callFaults(), receiptFaults(), outboxFaults(), topicFaults(),
	)
}
