// Package process holds the tests that kill and freeze real processes: workers of the built
// program, and Redis itself. Each is named after the scenario that it shows.
package process
