package main

import "context"

// warnOfServer says what is wrong with the settings of Redis, and gives what it is and may lose; "" where it does not
// tell.
func (a *app) warnOfServer(ctx context.Context, c connection) string {
	s, err := c.Server(ctx)
	if err != nil {
		return ""
	}
	for _, text := range s.Warnings() {
		a.say("%s", a.paint(a.stderr, yellow, "warning: "+text))
	}
	return s.Name + " " + s.Version + ": " + s.Durability()
}
