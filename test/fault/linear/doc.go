// Package linear checks that what clients were told of a job, all together, is what one job could have gone through in
// some order: each call as if at one moment between its sending and its answer. Calls pass proxies that drop, keep and
// repeat frames. A call is one frame here, so that each is carried out once at most.
package linear
