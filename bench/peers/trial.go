package main

// trial is one measurement of one system, once. Values that a measurement does not have are zero
// and left out.
type trial struct {
	Measure     string  `json:"measure"`
	System      string  `json:"system"`
	Run         int     `json:"run"`
	Concurrency int     `json:"concurrency,omitempty"` // handlers
	Jobs        int     `json:"jobs,omitempty"`
	Seconds     float64 `json:"seconds"`
	Rate        float64 `json:"jobs_per_s,omitempty"`

	RedisCPU   float64 `json:"redis_us_per_job,omitempty"`  // all threads
	ClientCPU  float64 `json:"client_us_per_job,omitempty"` // this process: producers, workers and measuring
	Commands   float64 `json:"commands_per_job,omitempty"`  // carried out by Redis, those inside scripts too
	Allocs     float64 `json:"allocs_per_job,omitempty"`    // objects
	AllocBytes float64 `json:"alloc_bytes_per_job,omitempty"`

	// Mean batches: jobs a call of the script, empty claims included.
	EnqueueBatch float64 `json:"jobs_per_enqueue_call,omitempty"`
	ClaimBatch   float64 `json:"jobs_per_claim_call,omitempty"`
	SettleBatch  float64 `json:"jobs_per_settle_call,omitempty"`

	// Pick-up: to the start of the handler, in ms, from the return of the enqueue call (negative
	// where the handler was first) and from before it.
	FromReturn *quantiles `json:"from_return_ms,omitempty"`
	FromCall   *quantiles `json:"from_call_ms,omitempty"`

	// Idle: commands a second, sent by the client and carried out by Redis.
	IdleSent    float64 `json:"idle_commands_sent_per_s,omitempty"`
	IdleCarried float64 `json:"idle_commands_carried_out_per_s,omitempty"`
	IdleClient  float64 `json:"idle_client_cpu_percent,omitempty"`
}

// newTrial divides what was used between two moments by the jobs.
func newTrial(jobs int, before, after usage) trial {
	n := float64(jobs)
	t := trial{Jobs: jobs, Seconds: after.at.Sub(before.at).Seconds()}
	t.Rate = n / t.Seconds
	t.RedisCPU = (after.redisCPU - before.redisCPU) / n
	t.ClientCPU = (after.client - before.client) / n
	t.Commands = (after.commands - before.commands) / n
	t.Allocs = (after.allocs - before.allocs) / n
	t.AllocBytes = (after.bytes - before.bytes) / n
	batch := func(verb string) float64 {
		calls := after.verbs[verb] - before.verbs[verb]
		if calls == 0 {
			return 0
		}
		return n / float64(calls)
	}
	t.EnqueueBatch, t.ClaimBatch, t.SettleBatch = batch(verbEnqueue), batch(verbClaim), batch(verbSettle)
	return t
}
