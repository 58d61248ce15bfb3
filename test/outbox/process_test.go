package outboxtest_test

import (
	"testing"

	"github.com/waybillhq/waybill/test/internal/program"
	outboxtest "github.com/waybillhq/waybill/test/outbox"
)

// process is a running program of package worker.
type process struct {
	*program.Process[outboxtest.Said]
}

// start starts a process. Where it still runs at the end of the test it is killed.
func start(t *testing.T, o outboxtest.Orders) (*process, error) {
	p, err := program.Start[outboxtest.Said](t, binary, o)
	return &process{p}, err
}

// up says whether a relay has come to its first boundary.
func (p *process) up() bool {
	for _, s := range p.Said() {
		if s.Up {
			return true
		}
	}
	return false
}

// over says whether it has ended.
func (p *process) over() bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

// died is the boundary at which it killed itself; "" = at none.
func (p *process) died() outboxtest.Boundary {
	for _, s := range p.Said() {
		if s.At != "" && p.Killed() {
			return s.At
		}
	}
	return ""
}
