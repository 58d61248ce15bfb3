// Command peers measures Waybill beside another job queue on the machine at hand.
//
//	make bench
//	cd bench/peers && go run . [-n 100000] [-runs 3] [-only drain,cycle] [-systems waybill,bare] [-json]
//
// Three systems take the same work: Waybill through its public Go API, asynq through its own, and
// a bare layout that keeps no promise (a string a job, a list, a sorted set of leases, in batches),
// which tells what the machine gives on that day. Every measurement has a fresh, private
// redis-server (append-only file, fsync every second, loopback TCP). Payloads are 200 bytes, the
// handler counts and returns, and every trial ends with an account: each job ran exactly once and
// nothing is left in the queue.
//
// The program is a module of its own, so that no peer is a dependency of Waybill. Rates move with
// whatever else the machine does; a ratio is taken between trials of one repetition. What the
// figures were, and what they mean, is in docs/benchmarks.md.
package main
