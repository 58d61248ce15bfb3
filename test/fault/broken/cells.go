package broken

import (
	"regexp"
	"strings"
	"time"
)

// facts is a test of single facts.
func facts(pkg, run string) Cell {
	return Cell{Tier: "facts", Package: pkg, Run: run, Within: 2 * time.Minute}
}

// conformance is T1: each script compared with a model in Go.
func conformance(name string) Cell {
	return Cell{Tier: "T1", Package: "./internal/store", Run: "^TestConformance$/^" + name + "$", Within: 2 * time.Minute}
}

// scripts and topics are the cells of T1 that compare the scripts of queues, and of topics.
func scripts() Cell { return conformance("a_server") }

func topics() Cell {
	return Cell{Tier: "T1", Package: "./internal/store", Run: "^TestTopicConformance$/^a_server$", Within: 2 * time.Minute}
}

// patient is for a cell that waits two minutes for what never comes.
func patient(c Cell) Cell {
	c.Within = 4 * time.Minute
	return c
}

// quick marks a cell that catches its fault within seconds.
func quick(c Cell) Cell {
	c.Quick = true
	return c
}

// crash is T2: one boundary and one fault of the matrix, by the cell's name. says is the promise that is found broken.
func crash(says, name string) Cell {
	return Cell{
		Tier: "T2", Package: "./test/fault/matrix", Run: "^TestMatrix$/^cells_0$/^" + regexp.QuoteMeta(strings.ReplaceAll(name, " ", "_")) + "$",
		Size: "full", Says: says, Within: 40 * time.Second,
	}
}

// linear is T4: what concurrent clients were told.
func linear() Cell {
	return Cell{
		Tier: "T4", Package: "./test/fault/linear", Run: "^TestLinear$", Size: "30s", Says: "is not linearizable", Within: 3 * time.Minute,
	}
}

// random is T5: faults at random while Redis keeps as much as its grade says.
func random(says, grade string) Cell {
	return Cell{
		Tier: "T5", Package: "./test/fault/nemesis", Run: "^TestNemesis$/^" + grade + "$", Size: "15s", Says: says, Within: 2 * time.Minute,
	}
}

// cut is T6: what a power cut leaves where every write is synced.
func cut(says string) Cell {
	return Cell{
		Tier: "T6", Package: "./test/fault/powercut", Run: "^TestR6_powerCut$/^always$/^[0-9]+_", Says: says, Within: 2 * time.Minute,
	}
}

// promise is how a check of a history names the promises that it found broken.
func promise(names ...string) string { return "(" + strings.Join(names, "|") + "): " }

// lua is the path of a script's part.
func lua(part string) string { return luaDir + part + ".lua" }

const luaDir = "internal/store/lua/"
