// Command bench measures what the store costs Redis, beside a bare layout that keeps no promise.
//
//	go run ./bench [-n jobs] [-batch 100,10,1] [-rounds 5] [-steps=false]
//
// Both take the same jobs (a payload of 200 bytes, a generated ID) from enqueue over
// claim to settled, in rounds that take turns on fresh, private servers with an append-only file
// (everysec, unix socket). The figures are Redis's own: CPU time of its main thread, commands
// that it carried out (those inside scripts too) and memory a waiting job. On a shared machine
// only the ratios of a run say much.
//
// The bare layout is the least that can be called a queue: a string a job, a list, a zset of
// leases. It has no tokens, no window of ended jobs, no capacity, no counters, no take-back.
//
// A second table tells what each part of the store's scripts costs: the same run with that
// part cut out of the scripts on their way to the server. A cut that no longer fits the
// scripts ends the program.
//
// Figures come as JSON, one a line, then as tables.
package main
