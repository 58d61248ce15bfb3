// Package outside plays the other sides of jobs, on loopback: a mail server, a payment gateway, a receiver of webhooks.
// Each keeps what it did in a [Book], and makes the trouble that it is told to make. The demo and the tests of the
// examples use it; it is for nothing else.
package outside
