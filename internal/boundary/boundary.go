// Package boundary lets tests stop a program at a named point between two steps that can part. Without a test it does
// nothing.
package boundary

import "context"

type key struct{}

// With gives a context in which At calls f with the name of each point that is passed.
func With(ctx context.Context, f func(name string)) context.Context {
	return context.WithValue(ctx, key{}, f)
}

// At passes a point.
func At(ctx context.Context, name string) {
	if f, ok := ctx.Value(key{}).(func(string)); ok {
		f(name)
	}
}
