package main

import (
	"fmt"
	"time"
)

// liveEvery is how often a live line is drawn at most.
const liveEvery = 200 * time.Millisecond

// liveLine is a line on stderr that is drawn again and again, on a terminal only. It is for one goroutine.
type liveLine struct {
	app   *app
	shown time.Time // when it was last drawn; zero = it is not there
}

func (a *app) liveLine() *liveLine { return &liveLine{app: a} }

// show draws the line, if it was not drawn just now.
func (l *liveLine) show(text func() string) {
	if !isTerminal(l.app.stderr) || time.Since(l.shown) < liveEvery {
		return
	}
	l.shown = time.Now()
	fmt.Fprint(l.app.stderr, clearLine, fitted(text(), width(l.app.stderr)-1))
}

// clear takes the line away.
func (l *liveLine) clear() {
	if !l.shown.IsZero() {
		fmt.Fprint(l.app.stderr, clearLine)
		l.shown = time.Time{}
	}
}
