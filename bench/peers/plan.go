package main

import "context"

// Names of measurements.
const (
	enqueue50  = "enqueue-50"
	enqueue1   = "enqueue-1"
	bulk1000   = "enqueue-many-1000"
	bulk100    = "enqueue-many-100"
	drainAll   = "drain"
	wholeCycle = "cycle"
	pickup10   = "pickup-10"
	pickup1    = "pickup-1"
	idleWorker = "idle"
)

// Shares of the jobs that slow measurements get.
const (
	loneShare  = 5   // one caller is a round trip a job
	pickupJobs = 500 // at most, at one in 20 ms
)

// system is one way to take part in a measurement.
type system struct {
	name        string
	concurrency int
}

// measurement is one thing that is measured of several systems. A system that stands in it more
// than once is told by its best.
type measurement struct {
	name    string
	what    string
	jobs    func(n int) int
	run     func(context.Context, *stage) (trial, error)
	systems []system
}

const concurrency = 100

// plan lists the measurements in the order in which they are made.
func plan() []measurement {
	whole := func(n int) int { return n }
	share := func(n int) int { return max(1, n/loneShare) }
	few := func(n int) int { return min(n, pickupJobs) }
	one := func(int) int { return 1 }
	batched := []system{{sysWaybill, 0}, {sysBare, 0}}
	callers := append([]system{{sysAsynq, 0}}, batched...)
	workers := []system{
		{sysAsynq, producers}, {sysAsynq, concurrency}, {sysWaybill, concurrency}, {sysBare, concurrency},
	}
	idlers := []system{{sysWaybill, 10}, {sysAsynq, 10}, {sysEager, 10}}
	return []measurement{
		{enqueue50, "50 callers, a job a call", whole, enqueueBy(producers), callers},
		{enqueue1, "one caller, a job a call", share, enqueueBy(1), callers},
		{bulk1000, "one caller, 1000 jobs a call", whole, enqueueIn(1000), batched},
		{bulk100, "one caller, 100 jobs a call", whole, enqueueIn(100), batched},
		{drainAll, "a full queue to empty, 100 handlers (asynq: 50 or 100, its best)", whole, drain, workers},
		{wholeCycle, "50 callers and a worker in one process, 100 handlers (asynq as above)", whole, cycle, workers},
		{pickup10, "a job every 20 ms, 10 handlers", few, pickup, idlers},
		{pickup1, "a job every 20 ms, 1 handler", few, pickup, []system{{sysWaybill, 1}}},
		{idleWorker, "nothing to do, 100 handlers", one, idle, []system{{sysWaybill, concurrency}, {sysAsynq, concurrency}}},
	}
}
