// Package record is the stored form of a job: its record, the element that stands
// in an index, its fingerprint and its ID, and the limits that input must keep.
// It is pure: no network, no clock but the caller's, no state.
//
// A record is written once, by the enqueue script:
//
//	1        format, '1'
//	2-16     head: class (3 hex digits), order (F or L), sequence (11 hex digits)
//	17-27    time of enqueue, ms since 1970, hex, by Redis's clock
//	28       source of the ID: g generated, n given ("named")
//	29       outbox: '-' for none, else one base-62 character
//	30-40    fingerprint: 64 bits, base64url
//	41-      the line: kind, then " d<hex>" (delay, ms) or " a<hex>" (due at, ms) and
//	         " r<hex>" (retention, ms), each only where it is not zero; ends with \n
//	then     what no script reads: fields (tag, length, bytes), a zero byte, the payload
//
// Positions count from 1, as Lua does. From position 28 on the record is the blob that
// the client makes; the script puts format, head and time before it.
// The class is 1000 minus the priority. The order letter in lower case says that the job
// left its place before it was claimed, so the element that still stands there is a ghost.
// docs/protocol.md tells the same for other languages.
package record
