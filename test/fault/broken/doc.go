// Package broken holds deliberate faults: what Waybill would be with one of its rules left out. Each names the test that
// catches it. A test that passes with the fault it is for proves nothing of the promise.
//
// No product source holds any of them. [Overlay] writes changed copies of the files concerned, and what "go build -overlay"
// needs to take them in place of the true ones. One build has all faults, asleep; the environment variable WAYBILL_BROKEN
// wakes one by its name, in the process that has it and in all that it starts:
//
//	go run ./test/fault/broken/overlay /some/directory
//	go test -c -overlay /some/directory/overlay.json -o broken.test ./internal/store
//	cd internal/store && WAYBILL_BROKEN=settle-any-token /path/to/broken.test -test.run TestConformance
//
// Tests that build programs build them from the same sources with GOFLAGS=-overlay=/some/directory/overlay.json.
package broken
