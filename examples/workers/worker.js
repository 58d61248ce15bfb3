// A pipe worker: waybill work --queue mail --pipe node examples/workers/worker.js
const lines = require('node:readline').createInterface({ input: process.stdin });

// Return what the job is to work on; an exception is the payload's fault, which no retry mends.
function read(job) {
  const { to } = JSON.parse(job.payload);
  if (!to) throw new Error('nobody to send to');
  return to;
}

// Do one job and return its result; an exception is a failure, and it is tried again.
async function handle(job, to) {
  // Give the other side job.idempotency_key: a job may come twice.
  return { sent: to, attempt: job.attempt };
}

const tell = (message) => process.stdout.write(JSON.stringify(message) + '\n');

async function end(job) {
  let to;
  try {
    to = read(job);
  } catch (e) {
    return { outcome: 'dead', error: String(e) };
  }
  try {
    return { outcome: 'ack', result: await handle(job, to) };
  } catch (e) {
    return { outcome: 'retry', error: String(e) };
  }
}

tell({ type: 'ready' }); // load what is slow to load before this
lines.on('line', async (line) => { // the next one comes after this one is settled
  const job = JSON.parse(line);
  tell({ type: 'settle', token: job.token, ...await end(job) });
});
