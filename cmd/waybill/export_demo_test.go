package main

import "io"

// End tells how a run ended that returned err, and gives the exit status.
func End(err error, asJSON bool, stdout, stderr io.Writer) int {
	a := &app{world: world{stdout: stdout, stderr: stderr}, json: asJSON}
	return a.end(err)
}

// DemoEnds makes of a demo's account and error what the command returns.
func DemoEnds(asJSON bool, stdout io.Writer, account any, err error) error {
	a := &app{world: world{stdout: stdout}, json: asJSON}
	return a.tellAccount(account, err)
}
