# A pipe worker: waybill work --queue mail --pipe ruby examples/workers/worker.rb
require 'json'

# Do one job and return its result; an exception is a failure, and it is tried again.
def handle(job)
  mail = JSON.parse(job['payload'])
  # Give the other side job['idempotency_key']: a job may come twice.
  { sent: mail.fetch('to'), attempt: job['attempt'] }
end

def tell(message)
  puts JSON.generate(message)
end

$stdout.sync = true
tell(type: 'ready') # load what is slow to load before this
$stdin.each_line do |line|
  job = JSON.parse(line)
  begin
    result = handle(job)
    tell(type: 'settle', token: job['token'], outcome: 'ack', result: result)
  rescue JSON::ParserError, KeyError => e # no retry mends the payload
    tell(type: 'settle', token: job['token'], outcome: 'dead', error: e.message)
  rescue StandardError => e
    tell(type: 'settle', token: job['token'], outcome: 'retry', error: e.message)
  end
end
