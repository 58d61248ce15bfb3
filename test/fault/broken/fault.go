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
	Caught Cell
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
	Within  time.Duration
	Pending bool // no such test is there yet: nothing shows that the fault is caught
}

// All gives every fault.
func All() []Fault {
	return slices.Concat(
		tokenFaults(), claimFaults(), endFaults(), enqueueFaults(), callFaults(), receiptFaults(), outboxFaults(), topicFaults(),
	)
}

// conformance is T1: each script compared with a model in Go.
func conformance(name string) Cell {
	return Cell{Tier: "T1", Package: "./internal/store", Run: "^TestConformance$/^" + name + "$", Within: 2 * time.Minute}
}

// facts is a test of single facts.
func facts(pkg, run string) Cell {
	return Cell{Tier: "facts", Package: pkg, Run: run, Within: 2 * time.Minute}
}

// crashes is T2: every boundary with every fault.
func crashes() Cell {
	return Cell{Tier: "T2", Package: "./test/fault/matrix", Run: ".", Within: 4 * time.Minute, Pending: true}
}

// lua is the path of a script's part.
func lua(part string) string { return luaDir + part + ".lua" }

const luaDir = "internal/store/lua/"

// scripts and topics are the cells that compare the scripts of queues, and of topics.
func scripts() Cell { return conformance("a_server") }

func topics() Cell {
	return Cell{Tier: "T1", Package: "./internal/store", Run: "^TestTopicConformance$/^a_server$", Within: 2 * time.Minute}
}
