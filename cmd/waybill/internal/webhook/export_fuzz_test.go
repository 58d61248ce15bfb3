package webhook

// RetryAfter reads the header of that name.
var RetryAfter = retryAfter
