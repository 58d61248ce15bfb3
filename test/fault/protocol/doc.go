// Package protocol is a model of the protocol of leases and receipts, small enough that every order of events can be looked
// at: two workers, two producers, one server that may fall back to an earlier moment (a power cut, or a failover to a
// replica), one SQL database, and a network that loses answers and delivers any message again, late.
//
// [Explore] goes through all states breadth first, so what it finds comes with a shortest way there. [Ours] are the rules that
// Waybill follows. The other rules are what it would be without one of them, and each must be found out: else the model is
// too weak to say anything of ours.
//
// The model knows no time: a lease may run out at any moment. It says nothing of scripts and SQL as they are written; the
// other tiers run those.
package protocol
