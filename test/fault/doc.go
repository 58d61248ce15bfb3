// Package fault holds tests of the Go API under faults: real servers that are killed, frozen, refused and cut off,
// through a proxy where replies are to be lost. Real worker processes are in test/process.
package fault
