package store

// Decoders of replies, for the fuzz tests.
var (
	ParseClaim    = parseClaim
	ParseProgress = parseProgress
	ParseJobEnd   = jobEnd
)

// ParseGet reads what a get script answers.
func ParseGet(raw, run, errorLines, cancel, progress, result string, score any) (Info, error) {
	i := Info{ID: "id", State: Ready}
	if err := i.fill(raw, run, score); err != nil {
		return i, err
	}
	return i, i.extras([]any{nil, nil, nil, nil, nil, errorLines, cancel, progress, result})
}

// ParseWindow reads an entry of the settled window.
func ParseWindow(entry string) (Info, error) {
	var i Info
	return i, i.fromWindow(entry)
}
