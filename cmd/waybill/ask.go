package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
)

// errDeclined: the user was asked, and did not say yes.
var errDeclined = errors.New("nothing was changed")

// canAsk tells whether somebody can be asked: he sees stderr and types.
func (a *app) canAsk() bool { return isTerminal(a.stderr) && isTerminal(a.stdin) }

// ask asks a question. The error is nil where the answer was yes.
func (a *app) ask(ctx context.Context, question string) error {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer := make(chan string, 1)
	go func() { // nothing ends a read from a terminal but its line
		line, _ := bufio.NewReader(a.stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.stderr)
		return fmt.Errorf("%w: nothing was changed", errInterrupted)
	case said := <-answer:
		if said == "y" || said == "yes" {
			return nil
		}
		return errDeclined
	}
}

// who names the user and this machine, for people to read.
func (a *app) who() string {
	name := a.getenv("USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return strings.Join(strings.Fields(name+"@"+host), "_")
}
