package pipe

import "time"

// ParseOutcome reads a child's line, and how it ends the attempt of a token. ours: the line is a message.
func ParseOutcome(text []byte, token string) (ours bool, result []byte, err error) {
	m, ours := parse(text, token)
	if !ours {
		return false, nil, nil
	}
	_ = m.percent()
	result, err = m.outcome(time.Minute)
	return true, result, err
}
