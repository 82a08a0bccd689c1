// A service that is to answer every 20 ms. Ten times a second: `service.js computing` works for 60 ms in the event loop,
// `service.js files` reads and writes files with the calls that block, `service.js fine` does nothing.
// Cures: a worker thread for the work; the calls that do not block for the files. A real-time class changes nothing.
'use strict';
const fs = require('fs');
const os = require('os');
const { Worker, isMainThread, parentPort } = require('worker_threads');

const kind = process.argv[2];
const place = `${os.tmpdir()}/service-js-${process.pid}`;
const bytes = Buffer.alloc(4 << 20);

if (!isMainThread) {
  const compute = () => {
    const until = Date.now() + 60;
    while (Date.now() < until);
  };
  parentPort.on('message', compute);
} else {
  const { FIX, now, late, goesOn, end, work } = require('./witness.js');
  const worker = FIX === 'other-thread' && kind === 'computing' ? new Worker(__filename) : undefined;
  const writeAndWait = () => {
    const file = fs.openSync(place, 'w');
    fs.writeSync(file, bytes);
    fs.fsyncSync(file);
    fs.closeSync(file);
  };
  const writeElsewhere = async () => {
    const file = await fs.promises.open(place, 'w');
    await file.write(bytes);
    await file.sync();
    await file.close();
  };
  const disturb = () => {
    if (kind === 'computing') worker ? worker.postMessage('') : work(60);
    if (kind === 'files') FIX === 'other-thread' ? writeElsewhere() : writeAndWait();
  };
  setInterval(disturb, 100);
  let due = now() + 20;
  const turn = () => {
    late(now() - due, 20);
    if (!goesOn()) {
      fs.rmSync(place, { force: true });
      return end();
    }
    due += 20;
    setTimeout(turn, Math.max(0, due - now()));
  };
  setTimeout(turn, 20);
}
