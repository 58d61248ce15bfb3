package pipe

// JobLine is the line of an attempt.
var JobLine = jobLine
