package main

// workHelp is the contract of the exec worker.
const workHelp = `Work claims jobs and runs COMMAND for each, the payload on stdin. What follows --exec is the
command and its arguments; no shell reads them, and no payload is put among them.

The command's status settles the job:
  0    done; stdout, up to 256 KiB, is the result
  75   put off for --snooze; no failure is counted
  65   dead; not tried again
  else a failure, tried again by policy; the end of stderr is the error
Death by a signal is a failure. A command that is not there is bad usage; where
it can't be started later, that fails no job: it is given back.

The command finds in its environment, beside what stands there: WAYBILL_JOB_ID, WAYBILL_QUEUE,
WAYBILL_KIND, WAYBILL_ATTEMPT, WAYBILL_TOKEN, WAYBILL_IDEMPOTENCY_KEY, WAYBILL_FAILURES,
WAYBILL_MAX_FAILURES ("unlimited" where there is no bound), WAYBILL_DEADLINE (RFC 3339, with
--timeout), and TRACEPARENT and TRACESTATE from the job's headers of these names in lower case.
WAYBILL_REDIS is taken out: it may hold a password.

It runs in a process group of its own. When its lease is lost, its job cancelled, its time over
or the grace of a stop, the group gets SIGTERM, and SIGKILL 5 s later; whatever its status, it then
counts as not done, unless its job was to be cancelled. What it leaves running is killed.

TERM or INT: claim no more, let commands end within --grace, give back the jobs of the others, exit
with status 0. Again: kill all commands and exit with 1 at once; the leases bring their jobs back.
TSTP: claim no more, but go on until TERM or INT.

The worker logs to stderr, from --log-level on; what commands write there is always passed on.`
