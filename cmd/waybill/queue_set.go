package main

import (
	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill"
	"github.com/waybillhq/waybill/internal/store"
)

// settingsFlags are the settings of a queue.
type settingsFlags struct {
	capacity, allowance, deadCount limitFlag
	deadAge                        ageFlag
}

func (a *app) queueSetCommand() *cobra.Command {
	f := &settingsFlags{}
	cmd := &cobra.Command{
		Use: "set QUEUE", Short: "Change settings of a queue", Args: between(1, 1),
		Long: `Set changes the settings that are given and leaves the others as they are. The word
unlimited lifts a bound; 0 is 0.`,
		Example: "  waybill queue set mail --capacity 1000\n  waybill queue set mail --capacity unlimited --dead-age 30d",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.queueSet(cmd, args[0], f)
		},
	}
	v := cmd.Flags()
	v.Var(&f.capacity, "capacity", "live jobs at most (at first unlimited)")
	v.Var(&f.allowance, "crash-allowance", "crashes forgiven, the next one kills (at first 5)")
	v.Var(&f.deadCount, "dead-count", "dead jobs kept at most (at first 10000)")
	v.Var(&f.deadAge, "dead-age", "how long dead jobs are kept (at first 90d)")
	quietDefaults(cmd, "capacity", "crash-allowance", "dead-count")
	return cmd
}

func (a *app) queueSet(cmd *cobra.Command, queue string, f *settingsFlags) error {
	settings := waybill.QueueSettings{
		Capacity: f.capacity.value(), CrashAllowance: f.allowance.value(), DeadCount: f.deadCount.value(),
		DeadAge: f.deadAge.value(),
	}
	if settings == (waybill.QueueSettings{}) {
		return usage(cmd, "nothing to set: give at least one setting")
	}
	if err := store.CheckQueue(queue); err != nil {
		return err
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Queue(queue).Set(ctx, settings)
}
