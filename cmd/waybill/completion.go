package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completeTime bounds what the shell waits for while somebody types.
const completeTime = time.Second

const completionHelp = `Completion prints a script that makes a shell complete commands, flags, and names of queues and topics; for
these it asks Redis, for a second at most, and says nothing where Redis does not answer.

  bash        source <(waybill completion bash)       in ~/.bashrc
  zsh         source <(waybill completion zsh)        in ~/.zshrc
  fish        waybill completion fish > ~/.config/fish/completions/waybill.fish
  powershell  waybill completion powershell | Out-String | Invoke-Expression`

func (a *app) completionCommand() *cobra.Command {
	shells := map[string]func(root *cobra.Command) error{
		"bash":       func(root *cobra.Command) error { return root.GenBashCompletionV2(a.stdout, true) },
		"zsh":        func(root *cobra.Command) error { return root.GenZshCompletion(a.stdout) },
		"fish":       func(root *cobra.Command) error { return root.GenFishCompletion(a.stdout, true) },
		"powershell": func(root *cobra.Command) error { return root.GenPowerShellCompletionWithDesc(a.stdout) },
	}
	cmd := parent("completion", "Print a script for completion in a shell")
	cmd.Long = completionHelp
	for name, generate := range shells {
		cmd.AddCommand(&cobra.Command{
			Use: name, Short: "Print the script for " + name, Args: between(0, 0),
			RunE: func(cmd *cobra.Command, _ []string) error { return generate(cmd.Root()) },
		})
	}
	return cmd
}

// completeQueue completes the first argument as the name of a queue.
func (a *app) completeQueue(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.queueNames(cmd, begun), cobra.ShellCompDirectiveNoFileComp
}

// completeQueues completes every value as the name of a queue.
func (a *app) completeQueues(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	return a.queueNames(cmd, begun), cobra.ShellCompDirectiveNoFileComp
}

// completeTopic completes the first argument as the name of a topic.
func (a *app) completeTopic(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names := a.asked(cmd, begun, func(ctx context.Context, c connection) ([]string, error) { return c.Topics(ctx) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSubscription completes the first argument as TOPIC/NAME.
func (a *app) completeSubscription(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeSubscriptions(cmd, args, begun)
}

// completeSubscriptions completes every value as TOPIC/NAME.
func (a *app) completeSubscriptions(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(a.queueNames(cmd, begun), func(name string) bool { return !strings.Contains(name, "/") })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// queueNames are the names of queues that begin so.
func (a *app) queueNames(cmd *cobra.Command, begun string) []string {
	return a.asked(cmd, begun, func(ctx context.Context, c connection) ([]string, error) { return c.Queues(ctx) })
}

// asked are the words from Redis that begin so, in order; none where Redis does not tell.
func (a *app) asked(cmd *cobra.Command, begun string, ask func(context.Context, connection) ([]string, error)) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeTime)
	defer cancel()
	c, err := a.connect(0)
	if err != nil {
		return nil
	}
	words := make(chan []string, 1)
	go func() { // it may outlast the time: nothing waits for it then
		defer c.Close()
		all, _ := ask(ctx, c)
		words <- all
	}()
	select {
	case <-ctx.Done():
		return nil
	case all := <-words:
		slices.Sort(all)
		return slices.DeleteFunc(all, func(word string) bool { return !strings.HasPrefix(word, begun) })
	}
}
