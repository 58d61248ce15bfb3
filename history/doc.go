// Package history writes down what happened in a run, one JSON line for each thing, so that it can be checked afterwards
// that the promises were kept: nothing lost, nothing done twice, no lie told.
package history
