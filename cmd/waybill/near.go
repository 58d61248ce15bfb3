package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mostTypos is how many letters may be wrong in what is meant to be a known word.
const mostTypos = 2

// nearCommand asks whether another command was meant; "" where none is near.
func nearCommand(cmd *cobra.Command, word string) string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return isIt(word, names)
}

// flagError is bad usage of flags, with the flag that may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	return usage(cmd, "%v%s", err, nearFlag(cmd, err))
}

// nearFlag asks whether another flag was meant; "" where none is near.
func nearFlag(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return isIt("--"+unknown.GetSpecifiedName(), names)
}

// nearTopic asks whether another topic was meant, of those that are there; "" where none is near, or this one is there. It is
// for words beside an answer: a failure is left out.
func (a *app) nearTopic(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, doubtTime)
	defer cancel()
	c, err := a.connect(0)
	if err != nil {
		return ""
	}
	defer c.Close()
	names, err := c.Topics(ctx)
	if err != nil || slices.Contains(names, name) {
		return ""
	}
	slices.Sort(names)
	return isIt(name, names)
}

// isIt names the words that are near to one, or begin with it.
func isIt(word string, names []string) string {
	var near []string
	for _, name := range names {
		bare, wrong := strings.TrimLeft(word, "-"), typos(word, name)
		if wrong <= mostTypos && 2*wrong < len(bare) || bare != "" && strings.HasPrefix(name, word) {
			near = append(near, name)
		}
	}
	if near == nil {
		return ""
	}
	return ": is it " + strings.Join(near, " or ") + "?"
}

// typos is the least number of letters to be put in, left out or changed that make one word another.
func typos(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
