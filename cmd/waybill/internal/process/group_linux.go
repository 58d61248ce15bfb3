package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// processAttr gives the child a process group of its own, and has the kernel kill it when the
// thread that started it ends: a worker that is killed takes its commands with it, though not what they
// started themselves.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// onlyZombies tells whether all that is left of the group are processes that ended and were not
// reaped. Where none of the group can be seen, nobody knows.
func (g group) onlyZombies() bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	found := false
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it is gone
		}
		of, ended := parseStat(raw)
		switch {
		case of != g:
		case !ended:
			return false
		default:
			found = true
		}
	}
	return found
}

// Fields of /proc/PID/stat, counted behind the name. See proc_pid_stat(5).
const (
	statState   = 0
	statGroup   = 2
	statThreads = 17
)

// parseStat reads /proc/PID/stat: the process's group, and whether it has ended. The name, in
// parentheses, may hold anything. A process whose first thread ended before others counts as a
// zombie for the kernel; it goes on.
func parseStat(raw []byte) (g group, ended bool) {
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	if len(fields) <= statThreads {
		return 0, false
	}
	n, err := strconv.Atoi(string(fields[statGroup]))
	if err != nil {
		return 0, false
	}
	threads, _ := strconv.Atoi(string(fields[statThreads]))
	switch string(fields[statState]) {
	case "Z", "X", "x":
		return group(n), threads <= 1
	}
	return group(n), false
}
