package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/record"
)

// allStates are the states that jobs can be found in, in the order in which a list shows them.
var allStates = []waybill.State{
	waybill.StateReady, waybill.StateScheduled, waybill.StateRetry, waybill.StateParked, waybill.StateSpilled,
	waybill.StateActive, waybill.StateDead, waybill.StateCompleted, waybill.StateCancelled,
}

// statesFlag gathers states.
type statesFlag []waybill.State

func (s *statesFlag) String() string { return "" }
func (s *statesFlag) Type() string   { return "STATE" }

func (s *statesFlag) Set(text string) error {
	for word := range strings.SplitSeq(text, ",") {
		state := waybill.State(word)
		if !slices.Contains(allStates, state) {
			return fmt.Errorf("want one of %s", words(allStates))
		}
		if !slices.Contains(*s, state) {
			*s = append(*s, state)
		}
	}
	return nil
}

// words are states as people read them.
func words[S ~string](states []S) string {
	texts := make([]string, len(states))
	for i, s := range states {
		texts[i] = string(s)
	}
	return strings.Join(texts, ", ")
}

// filterFlags say which jobs.
type filterFlags struct {
	states        statesFlag
	kind          string
	errorContains string
	olderThan     spanFlag
}

func (f *filterFlags) define(cmd *cobra.Command, states []waybill.State) {
	v := cmd.Flags()
	v.Var(&f.states, "state", "jobs in this state; repeatable: "+words(states))
	v.StringVar(&f.kind, "kind", "", "jobs of this `KIND`")
	v.StringVar(&f.errorContains, "error-contains", "", "jobs of which an error message holds this `TEXT`, upper and lower case told apart")
	v.Var(&f.olderThan, "older-than", "jobs enqueued so long ago, at least")
	completeWith(cmd, "state", states)
}

// completeWith completes a flag with states.
func completeWith[S ~string](cmd *cobra.Command, flag string, states []S) {
	names := make([]cobra.Completion, len(states))
	for i, s := range states {
		names[i] = string(s)
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined above
	}
}

// given tells whether anything was asked for.
func (f *filterFlags) given() bool {
	return f.states != nil || !f.onlyStates()
}

// onlyStates tells whether nothing but states was asked for, so that the counts of a queue tell how many there are.
func (f *filterFlags) onlyStates() bool {
	return f.kind == "" && f.errorContains == "" && f.olderThan == 0
}

// check checks what the client takes as nothing given, and that the states are among those that apply.
func (f *filterFlags) check(cmd *cobra.Command, applies []waybill.State) error {
	v := cmd.Flags()
	if v.Changed("kind") {
		if err := record.CheckName("kind", f.kind); err != nil {
			return err
		}
	}
	if v.Changed("error-contains") && f.errorContains == "" {
		return usage(cmd, "--error-contains is empty: leave it out to take jobs with any error or none")
	}
	for _, s := range f.states {
		if !slices.Contains(applies, s) {
			return usage(cmd, "--state is %s: %s applies to %s", s, cmd.Name(), words(applies))
		}
	}
	return nil
}

// filter is what was asked for.
func (f *filterFlags) filter() waybill.Filter {
	return waybill.Filter{
		States: f.states, Kind: f.kind, ErrorContains: f.errorContains, OlderThan: time.Duration(f.olderThan),
	}
}
