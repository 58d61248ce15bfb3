package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// HeadLen is the length of a head in bytes.
const HeadLen = 15

// Head places a job among the waiting ones.
type Head struct {
	Priority int    // -MaxPriority to MaxPriority; higher is claimed first
	LIFO     bool   // newest first within its priority
	Left     bool   // the job left its place before it was claimed
	Seq      uint64 // number of the job in its queue
}

// PlainOrder is the order of most jobs: FIFO at priority 0.
const PlainOrder = "3e8F"

// Order is what a producer says of the place: class and order letter.
func Order(priority int, lifo bool) string {
	if priority == 0 && !lifo {
		return PlainOrder
	}
	letter := "F"
	if lifo {
		letter = "L"
	}
	return fmt.Sprintf("%03x", MaxPriority-priority) + letter
}

// String is the head as it stands in an element: with the order letter in upper case.
func (h Head) String() string { return Order(h.Priority, h.LIFO) + fmt.Sprintf("%011x", h.Seq) }

// Element is what stands in an index for the job.
func (h Head) Element(id string) string { return h.String() + ":" + id }

// ParseHead reads a head. Errors: ErrDamaged.
func ParseHead(s string) (Head, error) {
	bad := func() (Head, error) { return Head{}, fmt.Errorf("%w: head %q", ErrDamaged, s) }
	if len(s) != HeadLen {
		return bad()
	}
	class, err := strconv.ParseUint(s[:3], 16, 16)
	if err != nil || class > 2*MaxPriority {
		return bad()
	}
	seq, err := strconv.ParseUint(s[4:], 16, 64)
	if err != nil || !strings.Contains("FLfl", s[3:4]) {
		return bad()
	}
	h := Head{Priority: MaxPriority - int(class), Seq: seq}
	h.LIFO, h.Left = s[3] == 'L' || s[3] == 'l', s[3] >= 'a'
	return h, nil
}

// SplitElement cuts an element into its head and ID. Errors: ErrDamaged.
func SplitElement(el string) (head, id string, err error) {
	if len(el) <= HeadLen+1 || el[HeadLen] != ':' {
		return "", "", fmt.Errorf("%w: element %q", ErrDamaged, el)
	}
	return el[:HeadLen], el[HeadLen+1:], nil
}

// ParseTime reads a time as a record holds it: ms since 1970, hex. Errors: ErrDamaged.
func ParseTime(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 16, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: time %q", ErrDamaged, s)
	}
	return time.UnixMilli(ms), nil
}
