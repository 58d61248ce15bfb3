package main

import (
	"time"

	"github.com/waybillhq/waybill"
)

// Readers of what users write, for the fuzz tests.
var ParseDuration = parseDuration

// CountTargets tells how many kinds of Redis a URL names.
func CountTargets(text string) (kinds int, err error) {
	t, err := parseTarget(text)
	for _, is := range []bool{t.server != nil, t.sentinel != nil, t.cluster != nil} {
		if is {
			kinds++
		}
	}
	return kinds, err
}

// ParseObject reads a line of --jsonl.
func ParseObject(text []byte) (waybill.Request, error) {
	return objectLines{fields: ofJob()}.request(line{number: 1, size: int64(len(text)), text: text})
}

// ParseTime reads what --at takes.
func ParseTime(s string) (time.Time, error) {
	var f timeFlag
	err := f.Set(s)
	return f.t, err
}
