package demo

import (
	"context"
	"io"
)

// RunChecked is Run with a check of its own.
func RunChecked(ctx context.Context, o Options, check func(Account) []string) (Account, error) {
	return checked(ctx, o, check)
}

// Check tells what is wrong about an account.
func (a Account) Check() []string { return a.complaints() }

// Drawn is the order of a seed's jobs, and their troubles.
func Drawn(seed uint64) (ids []string, troubles int, held [2]string) {
	p := newPlan(seed)
	p.add(&stage{}, "")
	for _, r := range p.requests {
		ids = append(ids, r.ID)
	}
	return ids, len(p.trouble), p.held
}

// Story prints steps and progress.
type Story struct{ s *story }

// NewStory makes a story for a line of a width.
func NewStory(out io.Writer, live bool, width int, broken func(error)) Story {
	return Story{&story{
		out: out, live: live, width: func() int { return width }, broken: broken, bold: func(s string) string { return s },
	}}
}

// Step tells a step.
func (s Story) Step(name, text string) { s.s.step(name, "%s", text) }

// Progress tells how far things are.
func (s Story) Progress(text string) { s.s.progress(text) }

// Word is a word of a shell's command.
var Word = word
