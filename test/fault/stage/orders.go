// Package stage is where the fault programme plays: a Redis of the run's own, real processes each behind a proxy of its own, a
// director that lets them come to a point and does something to them there, the history that all of them write, and the account
// in the end. The processes are the program in ../actor.
package stage

import (
	"time"

	"github.com/waybillhq/waybill/test/internal/watched"
)

// Role is what a process does.
type Role string

// Roles.
const (
	Produce   Role = "produce"   // enqueues jobs, and asks again with the same ID where it was not answered
	Await     Role = "await"     // enqueues jobs and waits for their ends
	Work      Role = "work"      // works a queue off
	Publish   Role = "publish"   // publishes events, as Produce
	Subscribe Role = "subscribe" // works a subscription off
	Relay     Role = "relay"     // carries an outbox's rows
)

// Point is where a process can be stopped: between two steps that can part.
type Point string

// Points within a process. Those of a script's call are made by Of.
const (
	Handed     Point = "handler entered"
	Begun            = Point(watched.Begun)
	Entered          = Point(watched.Entered)
	Written          = Point(watched.Written)
	Committing       = Point(watched.Committing)
	Committed        = Point(watched.Committed)
	Returned   Point = "handler returns"
	Stopping   Point = "told to stop"
)

// Step is a step of a call of a script.
type Step string

// Steps of a call. Process and proxy stop it in turn.
const (
	Sends    Step = "is to be sent"
	OnTheWay Step = "was sent, and not carried out"
	Answered Step = "was carried out, and not answered"
	Read     Step = "was answered"
)

// Of is the point at a step of the calls of a verb.
func (s Step) Of(verb string) Point { return Point(verb + " " + string(s)) }

// Orders are what a process is told, as JSON in its only argument.
type Orders struct {
	Name    string // in the history
	Role    Role
	Redis   string // the URL of its proxy
	History string // the file
	Queue   string // or the subscription, as "orders/billing"; of Publish the topic

	Stop Point // where it stops, says so, and waits until it is let go; "" = nowhere
	Skip int   // passages of that point before it stops

	Jobs      int           // Produce, Await, Publish: how many; Work, Subscribe: at a time
	From      int           // Produce, Await, Publish: number of the first
	Batch     int           // Produce, Publish: jobs a call; 0 = one, in a call of its own
	Every     time.Duration // Produce, Publish: between two calls; 0 = none
	Delay     time.Duration // Produce: every third job is due later
	Retention time.Duration
	Lease     time.Duration
	Takes     time.Duration // Work, Subscribe: how long a handler takes
	Mixed     bool          // Work: some jobs fail, snooze, die
	Progress  bool          // Work: handlers tell their progress
	Bare      bool          // Work, Subscribe: handlers write nothing, though there is a database

	Driver, DSN, Dialect string            // of the database; "" = handlers write nothing
	Digests              map[string]string // verbs by digests: to make them takes a process long
}

// Said is a line that a process says.
type Said struct {
	At    Point `json:",omitempty"` // it stops here
	Up    bool  `json:",omitempty"` // it is at work
	Ended bool  `json:",omitempty"` // all that it had to send is answered
}

// Kind is the kind of all jobs, and Go what lets a process go on, as a line on its standard input.
const (
	Kind = "fault.work"
	Go   = "go"
)
