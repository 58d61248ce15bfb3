"""A pipe worker: waybill work --queue mail --pipe python3 examples/workers/worker.py"""

import json
import sys


def handle(job):
    """Do one job and return its result; an exception is a failure, and it is tried again."""
    mail = json.loads(job["payload"])
    # Give the other side job["idempotency_key"]: a job may come twice.
    return {"sent": mail["to"], "attempt": job["attempt"]}


def tell(**message):
    print(json.dumps(message), flush=True)


tell(type="ready")  # load what is slow to load before this
for line in sys.stdin:
    job = json.loads(line)
    try:
        result = handle(job)
        tell(type="settle", token=job["token"], outcome="ack", result=result)
    except (ValueError, KeyError) as e:  # no retry mends the payload
        tell(type="settle", token=job["token"], outcome="dead", error=repr(e))
    except Exception as e:
        tell(type="settle", token=job["token"], outcome="retry", error=repr(e))
