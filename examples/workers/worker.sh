#!/bin/sh
# An exec worker, a process a job: waybill work --queue mail --exec sh examples/workers/worker.sh
# The payload is on stdin; stdout is the result; the status says how it ended.
set -eu

# This reads plain addresses only; where jq is installed, it reads all of JSON.
to=$(LC_ALL=C sed -n 's/.*"to" *: *"\([A-Za-z0-9.@_+-]*\)".*/\1/p')
if [ -z "$to" ]; then
  echo "nobody to send to" >&2
  exit 65 # dead: no retry mends the payload
fi

# Give the other side $WAYBILL_IDEMPOTENCY_KEY: a job may come twice.
# exit 75 puts the job off; any other status is a failure, and it is tried again.
printf '{"sent":"%s","attempt":%s}' "$to" "$WAYBILL_ATTEMPT"
