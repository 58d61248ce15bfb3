package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// What a terminal understands: go to the top, wipe the rest of the line, wipe all below.
const (
	cursorHome = "\x1b[H"
	clearRest  = "\x1b[K"
	clearBelow = "\x1b[J"
)

// watch shows a text again and again, until ctx ends or nobody reads it any more. Both are good ends.
func (a *app) watch(ctx context.Context, every time.Duration, read func() (string, error)) error {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE) // a failed write, not the end of the program
	defer signal.Stop(pipe)
	again := time.NewTicker(every)
	defer again.Stop()
	for first := true; ; first = false {
		text, err := read()
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			_, err = io.WriteString(a.stdout, a.frame(text, first))
		}
		switch {
		case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// frame is a text as it is shown once more: in the place of the last one on a terminal, below it elsewhere.
func (a *app) frame(text string, first bool) string {
	switch {
	case isTerminal(a.stdout):
		text = cursorHome + strings.ReplaceAll(text, "\n", clearRest+"\n") + clearBelow
		if first {
			text = cursorHome + clearBelow + text
		}
	case !a.json && !first:
		text = "\n" + text
	}
	return text
}
