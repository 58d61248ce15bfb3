// Package powercut tests what a power cut leaves. A run is recorded on a real server, with every write and sync of its
// append-only file; then servers are started on what a cut at many moments may have left of the file: what the last sync
// had made durable, and every sort of legal prefix of what had been written after it, also one that ends within a command
// or within a transaction. Each is checked against what the clients of the run had been told by then.
//
// A disk that lies about its syncs is not covered, nor a file system that leaves garbage behind what was synced.
package powercut
