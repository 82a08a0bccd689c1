// What witness.h is to C programs: own stamps, and one line at the end.
'use strict';
const { execFileSync } = require('child_process');

exports.FIX = process.env.WITNESS_FIX || '';
const seconds = Number(process.env.WITNESS_SECONDS || 3);
const now = () => Number(process.hrtime.bigint()) / 1e6;
exports.now = now;

if (process.env.WITNESS_CPU)
  execFileSync('taskset', ['-acp', process.env.WITNESS_CPU, String(process.pid)], { stdio: 'ignore' });

const from = now() + 1000;
const until = from + seconds * 1000;
const late = [];
let over = 0;

exports.goesOn = () => now() < until;
exports.late = (ms, limit) => {
  if (now() < from) return;
  late.push(ms * 1e3);
  over += ms > limit;
};
exports.end = () => {
  late.sort((a, b) => a - b);
  const rank = (share) => late[Math.min(Math.floor(late.length * share), late.length - 1)] || 0;
  const mean = late.reduce((sum, one) => sum + one, 0) / Math.max(late.length, 1);
  const told = { done: late.length, over, mean, p50: rank(0.5), p99: rank(0.99), max: rank(1) };
  process.stdout.write(`witness ${JSON.stringify(told)}\n`, () => process.exit(0));
};
exports.work = (ms) => {
  const begun = process.cpuUsage();
  for (;;) {
    const used = process.cpuUsage(begun);
    if (used.user + used.system > ms * 1e3) return;
  }
};
