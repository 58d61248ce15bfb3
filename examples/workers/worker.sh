#!/bin/sh
# An exec worker, a process a job: waybill work --queue mail --exec sh examples/workers/worker.sh
# The payload is on stdin; stdout is the result; the status says how it ended.
set -eu

payload=$(cat)
case $payload in
  *'"to":'*) ;;
  *) echo "nobody to send to" >&2; exit 65 ;; # dead: no retry mends the payload
esac
to=${payload#*'"to":"'}
to=${to%%'"'*}

# Give the other side $WAYBILL_IDEMPOTENCY_KEY: a job may come twice.
# exit 75 puts the job off; any other status is a failure, and it is tried again.
printf '{"sent":"%s","attempt":%s}' "$to" "$WAYBILL_ATTEMPT"
