// Package history writes down what happened in a run, one JSON line for each thing, so that it can be checked afterwards
// that the promises were kept: nothing lost, nothing done twice, no lie told. A Recorder writes the lines of a process, and in
// the end the account; Check, and `waybill verify`, read them.
package history
