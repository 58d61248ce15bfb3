package main

// workHelp is the contract of the workers that are no Go programs.
const workHelp = `Work claims jobs and has each done in one of three ways:
  --exec COMMAND   a process a job; any program that reads stdin
  --pipe COMMAND   processes that live on, a line of JSON a job; for what is slow to start
  --http URL       a POST a job; for what is a service already
What follows --exec or --pipe is the command and its arguments; no shell reads them, and no payload is put
among them. A command that is not there is bad usage; where it can't be started later, that fails no job: it
is given back. Each job may come twice: give its idempotency key to whom you tell of it.

With --subscribe TOPIC/NAME the events of a topic are the jobs: their kind is the topic's name unless their publisher said
otherwise, their queue TOPIC/NAME. The subscription is made at --from when the worker starts, if it is not there: at
beginning, which is unless said otherwise before all that the stream holds, now, a time, a duration ago by this machine's
clock, or the ID of an entry. One that is there keeps its place; one that was detached takes nothing until topic subscribe
--attach. Their idempotency keys are TOPIC/NAME/EVENT, also where a replay brings an event again.

EXEC. The payload is on stdin. The command's status settles the job:
  0    done; stdout, up to 256 KiB, is the result
  75   put off for --snooze; no failure is counted
  65   dead; not tried again
  else a failure, tried again by policy; the end of stderr is the error
Death by a signal is a failure.

The command finds in its environment, beside what stands there: WAYBILL_JOB_ID, WAYBILL_QUEUE,
WAYBILL_KIND, WAYBILL_ATTEMPT, WAYBILL_TOKEN, WAYBILL_IDEMPOTENCY_KEY, WAYBILL_FAILURES,
WAYBILL_MAX_FAILURES ("unlimited" where there is no bound), WAYBILL_DEADLINE (RFC 3339, with
--timeout), WAYBILL_EVENT (the event's ID) in a subscription, WAYBILL_REPLAY where a replay of that name
brought it, and TRACEPARENT and TRACESTATE from the job's headers of these names in lower case.
WAYBILL_REDIS is taken out: it may hold a password.

PIPE. A child for each slot, one job at a time. It reads from stdin and writes to stdout, an object a line,
and has to flush each:
  it writes  {"type":"ready"}                           once, within --ready-timeout; before, nothing is claimed
  it reads   {"type":"job","id":…,"kind":…,"payload":…,"token":…,"idempotency_key":…,"deadline_at":…}
             with all fields of a job's JSON (waybill job get --json), null where they are not known here;
             a payload that is no UTF-8 stands in payload_base64; "event" and "replay" are those of a subscription,
             and "again" says that the replay is to repeat effects
  it writes  {"type":"progress","token":…,"percent":40,"note":…}      if it likes
  it writes  {"type":"settle","token":…,"outcome":"ack","result":…}
The outcome is one of
  ack     done; result, up to 256 KiB, is kept as it is spelled
  retry   a failure with "error", tried again after "delay_ms", else by policy
  snooze  put off for "delay_ms", else for --snooze; no failure is counted
  dead    dead with "error"; not tried again
  cancel  cancelled, for the reason in "error"
Beside any outcome may stand "effects", "suppressed" and "mismatches", up to 1000 each: how many effects were
applied, were found done, or were refused as other work; queue stats counts them.
Lines that are none of these (up to 32 KiB of each), and stderr, are logs. A message with another token is ignored; a line over
1.5 MiB, or the child's exit before it settled, is a failure. At the end of stdin the child is to exit. Where
one ends a new one is started, later and later (100 ms to 10 s) where it was of no use.

HTTP. The payload is the body, its type application/json where it is JSON, else application/octet-stream.
Headers: Waybill-Job-Id, -Queue, -Kind, -Attempt, -Failures, -Max-Failures, -Deadline (with --timeout),
-Event (in a subscription), -Replay (where one of that name brought the event), Idempotency-Key, Traceparent
and Tracestate. Their values are percent-encoded: decode them.
The answer's status settles the job:
  2xx            done; the body, up to 256 KiB, is the result
  429, 503       with Retry-After: put off for so long, from 1 s to 1 h; no failure is counted
  400, 410, 422  dead; not tried again
  else           a failure, tried again by policy, not before Retry-After (up to 1 h); status and begin of the
                 body are the error. No answer in time is one, and so is a redirect: none is followed
With --http-secret-file requests are signed as in Standard Webhooks (webhook-id, webhook-timestamp,
webhook-signature); webhook-id is the idempotency key with full stops as %2E. Addresses that are not public
are refused without --http-allow-private, and a job for such a one is given back.

ENDS. A command, and each child, runs in a process group of its own. When the job's lease is lost, it is
cancelled, its time over or the grace of a stop, the group gets SIGTERM, and SIGKILL 5 s later; whatever its
status, the job then counts as not done, unless it was to be cancelled. What it leaves running is killed. A
request is ended at once.

With --until-empty it ends with status 0 when nothing is ready or active and subscriptions have taken all events; with 4 where events
are left that a subscription can't take, since it is detached or paused: stderr says which. A paused queue is waited for.

TERM or INT: claim no more, let jobs end within --grace, give back the others, exit with status 0.
Again: kill all commands and exit with 1 at once; the leases bring their jobs back. waybill worker stop does
what a first TERM does, and is none: a TERM that follows it is the first.
TSTP: claim no more, but go on until TERM or INT.

HEALTH. With --health ADDR, GET /healthz there answers 200 and "ok", or 503 and why: while Redis is away, or
nothing can do jobs, or work is due for 30 s, with a slot free, and none was begun. With ?format=json it
answers with an object. Anybody who can reach ADDR may ask.

The worker logs to stderr, from --log-level on; what commands write there is always passed on.`
