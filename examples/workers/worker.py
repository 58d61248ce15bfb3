"""A pipe worker: waybill work --queue mail --pipe python3 examples/workers/worker.py"""

import json
import sys


def read(job):
    """Return what the job is to work on; an exception is the payload's fault, which no retry mends."""
    return json.loads(job["payload"])["to"]


def handle(job, to):
    """Do one job and return its result; an exception is a failure, and it is tried again."""
    # Give the other side job["idempotency_key"]: a job may come twice.
    return {"sent": to, "attempt": job["attempt"]}


def settle(job, outcome, **more):
    print(json.dumps({"type": "settle", "token": job["token"], "outcome": outcome, **more}), flush=True)


print('{"type":"ready"}', flush=True)  # load what is slow to load before this
for line in sys.stdin:
    job = json.loads(line)
    try:
        to = read(job)
    except Exception as e:
        settle(job, "dead", error=repr(e))
        continue
    try:
        result = handle(job, to)
    except Exception as e:
        settle(job, "retry", error=repr(e))
    else:
        settle(job, "ack", result=result)
