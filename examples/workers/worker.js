// A pipe worker: waybill work --queue mail --pipe node examples/workers/worker.js
const lines = require('node:readline').createInterface({ input: process.stdin });

// Do one job and return its result; an exception is a failure, and it is tried again.
async function handle(job) {
  const mail = JSON.parse(job.payload);
  if (!mail.to) throw new SyntaxError('nobody to send to');
  // Give the other side job.idempotency_key: a job may come twice.
  return { sent: mail.to, attempt: job.attempt };
}

const tell = (message) => process.stdout.write(JSON.stringify(message) + '\n');

tell({ type: 'ready' }); // load what is slow to load before this
lines.on('line', async (line) => { // the next one comes after this one is settled
  const job = JSON.parse(line);
  try {
    const result = await handle(job);
    tell({ type: 'settle', token: job.token, outcome: 'ack', result });
  } catch (e) {
    const outcome = e instanceof SyntaxError ? 'dead' : 'retry'; // no retry mends the payload
    tell({ type: 'settle', token: job.token, outcome, error: String(e) });
  }
});
