// Package waybilltest runs jobs in tests: on a Redis of its own, one step at a time.
//
//	env := waybilltest.New(t)
//	Welcome.Handle(env.Worker, handleWelcome)
//	signUp(ctx, env.Client, 7) // the code under test enqueues
//
//	args := waybilltest.RequireEnqueued(t, env, Welcome)
//	ran := env.WorkAll()         // runs the job, and what it enqueues
//	env.Advance(time.Hour)       // what is due within an hour is due
//
// Topics are tested alike: [RequirePublished] tells what was published, and WorkAll works subscriptions off. A topic without a
// subscription refuses events; here it keeps them, so that a publisher can be tested alone, and before the first WorkAll
// makes the worker's subscriptions. That is done by a capacity of a million events, set at the first publish to a topic that
// has neither subscription nor capacity.
//
// Each [Env] has a key prefix of its own, so tests may run in parallel. Handlers run within [Env.WorkAll] only.
// The program examples/testing is a whole service with its tests.
//
// # Which Redis
//
// Where redis-server or valkey-server is on the PATH, the first Env of a test process starts one, on a socket in a
// temporary directory, for all of them; it ends with the process, however that ends. Where there is none, each Env has
// a stand-in in memory. The environment variable WAYBILL_TEST_REDIS names another Redis by its URL. Each test logs what
// it runs on, and in the end removes all keys under its prefix.
//
// # What does not move
//
// [Env.Advance] makes jobs due; it can't move Redis's clock. Leases, the retention of ended jobs, the window in which an
// ended job's ID is known, and the ages by which dead jobs are cut go by real time.
package waybilltest
