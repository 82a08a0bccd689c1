// How late setTimeout of Node.js fires. The protocol is described in docs/probes.md.
"use strict";

const fs = require("fs");

const MOST = 4096; // readings kept before they are printed
const SECOND = 1_000_000_000n;

const length = Number(process.argv[2]) / 1e6; // milliseconds; Node.js takes whole ones, and at least 1
let left = Number(process.argv[3]);
// On Linux, hrtime is CLOCK_MONOTONIC.
const now = process.hrtime.bigint;
const print = (text) => fs.writeSync(1, text);

print(`howlate-probe 1 monotonic Node.js ${process.version}: setTimeout\n`);

const starts = new BigInt64Array(MOST);
const ends = new BigInt64Array(MOST);
let kept = 0;
let nextPrint = now() + SECOND;

function sleep() {
  starts[kept] = now();
  setTimeout(awake, length);
}

function awake() {
  const end = now();
  ends[kept++] = end;
  left--;
  if (kept === MOST || end >= nextPrint || left === 0) {
    let lines = "";
    for (let i = 0; i < kept; i++) lines += `${starts[i]} ${ends[i]}\n`;
    print(lines);
    kept = 0;
    nextPrint = now() + SECOND;
  }
  if (left > 0) sleep();
  else print("end\n");
}

if (left > 0) sleep();
else print("end\n");
