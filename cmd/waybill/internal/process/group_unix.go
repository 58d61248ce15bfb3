//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package process

import "syscall"

// group is a process group, named by the process that leads it.
//
// Its number may be used anew once all of it are gone and reaped. Between that and our last look
// lie microseconds, and a system gives numbers in turn, so nobody else gets it meanwhile.
type group int

func (g group) terminate()  { _ = syscall.Kill(-int(g), syscall.SIGTERM) }
func (g group) kill()       { _ = syscall.Kill(-int(g), syscall.SIGKILL) }
func (g group) alive() bool { return syscall.Kill(-int(g), 0) != syscall.ESRCH }

// runs tells whether anything of the group still runs. It looks more closely than alive, and takes longer.
func (g group) runs() bool { return g.alive() && !g.onlyZombies() }
