# A pipe worker: waybill work --queue mail --pipe ruby examples/workers/worker.rb
require 'json'

# Return what the job is to work on; an exception is the payload's fault, which no retry mends.
def read(job)
  JSON.parse(job['payload']).fetch('to')
end

# Do one job and return its result; an exception is a failure, and it is tried again.
def handle(job, to)
  # Give the other side job['idempotency_key']: a job may come twice.
  { sent: to, attempt: job['attempt'] }
end

def settle(job, outcome, **more)
  puts JSON.generate({ type: 'settle', token: job['token'], outcome: outcome, **more })
end

$stdout.sync = true
puts '{"type":"ready"}' # load what is slow to load before this
$stdin.each_line do |line|
  job = JSON.parse(line)
  begin
    to = read(job)
  rescue StandardError => e
    settle(job, 'dead', error: e.message)
    next
  end
  begin
    result = handle(job, to)
  rescue StandardError => e
    settle(job, 'retry', error: e.message)
  else
    settle(job, 'ack', result: result)
  end
end
