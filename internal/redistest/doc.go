// Package redistest gives tests a Redis of their own. It is imported by tests
// only.
//
// [Shared] is for most tests: one server for the whole test binary, a key prefix
// for each test. [Start] is for tests that stop, kill, restart or configure the
// server: each call starts one, in about 30 ms.
//
// Every server is a child that this package started and that dies with the test
// process; no test ever touches another Redis. Where neither redis-server nor
// valkey-server is on the PATH, tests skip and say so; with the environment
// variable CI set they fail instead.
package redistest
