// Opens a trace with Perfetto's trace processor, as its page in a browser does, and prints what it makes of it.
//
//     node perfetto.cjs FOLDER TRACE QUERY…
//
// FOLDER has the files of Perfetto's page. Of each query the rows are printed, all as one JSON document.
// The messages are those of perfetto/protos/perfetto/trace_processor/trace_processor.proto.

const fs = require("fs");
const path = require("path");
const [folder, trace, ...queries] = process.argv.slice(2);
const METHOD = { append: 1, finalize: 2, query: 3 };
const [APPEND_DATA, QUERY_ARGUMENTS, QUERY_RESULT] = [101, 103, 203];

function varint(number) {
  const bytes = [];
  for (let rest = BigInt(number); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}
const numbered = (field, number) => Buffer.concat([varint(field << 3), varint(number)]);
const sized = (field, bytes) => Buffer.concat([varint((field << 3) | 2), varint(bytes.length), bytes]);

function readVarint(bytes, at) {
  let [number, shift] = [0n, 0n];
  for (;;) {
    const byte = bytes[at++];
    number |= BigInt(byte & 127) << shift;
    if (byte < 128) return [BigInt.asIntN(64, number), at];
    shift += 7n;
  }
}
/// The fields of a message: their number and their value.
function* fields(bytes) {
  for (let at = 0; at < bytes.length; ) {
    let [key, value] = [0n, 0n];
    [key, at] = readVarint(bytes, at);
    const kind = Number(key & 7n);
    if (kind === 0) [value, at] = readVarint(bytes, at);
    else {
      let length = kind === 1 ? 8n : 4n;
      if (kind === 2) [length, at] = readVarint(bytes, at);
      value = bytes.subarray(at, (at += Number(length)));
    }
    yield [Number(key >> 3n), value];
  }
}
function* varints(bytes) {
  for (let at = 0, one; at < bytes.length; ) {
    [one, at] = readVarint(bytes, at);
    yield Number(one);
  }
}

/// A query's answer: its columns and the cells of all rows, one after the other.
function answer(columns, cells, bytes) {
  for (const [field, value] of fields(bytes)) {
    if (field === 1) columns.push(Buffer.from(value).toString());
    if (field === 2) throw new Error(Buffer.from(value).toString());
    if (field === 3) batch(cells, value);
  }
}
function batch(cells, bytes) {
  const of = {};
  for (const [field, value] of fields(bytes)) (of[field] ??= []).push(value);
  const all = (field) => Buffer.concat((of[field] ?? []).map((one) => Buffer.from(one)));
  const kinds = [...varints(all(1))];
  const numbers = varints(all(2));
  const decimals = all(3);
  const texts = all(5).toString().split("\0");
  let [decimal, text] = [0, 0];
  const cell = { 1: () => null, 2: () => numbers.next().value, 3: () => decimals.readDoubleLE(8 * decimal++), 4: () => texts[text++] };
  cells.push(...kinds.map((kind) => cell[kind]()));
}

/// What the page's worker needs of a browser: itself, and its files.
global.self = global;
global.WorkerGlobalScope = class {};
global.location = { href: "file:///" };
global.XMLHttpRequest = class {
  open(_, name) {
    this.file = path.join(folder, path.basename(name));
  }
  send() {
    const bytes = fs.readFileSync(this.file);
    this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  }
};
// It is made for browsers only.
Object.defineProperty(process, "versions", { value: {} });
require(path.resolve(folder, "engine_bundle.js"));

let [number, heard] = [0, () => {}];
const port = { postMessage: (bytes) => heard(bytes) };
function ask(method, more) {
  const message = Buffer.concat([numbered(1, ++number), numbered(2, method), more]);
  const replies = [];
  heard = (bytes) => replies.push(Buffer.from(bytes));
  port.onmessage({ data: new Uint8Array(sized(1, message)) });
  return [...fields(Buffer.concat(replies))].map(([, message]) => [...fields(message)]).flat();
}
function rows(query) {
  const [columns, cells] = [[], []];
  for (const [field, value] of ask(METHOD.query, sized(QUERY_ARGUMENTS, sized(1, Buffer.from(query))))) {
    if (field === QUERY_RESULT) answer(columns, cells, value);
  }
  const width = columns.length;
  return Array.from({ length: cells.length / width }, (_, row) => Object.fromEntries(columns.map((name, at) => [name, cells[row * width + at]])));
}
function run() {
  ask(METHOD.append, sized(APPEND_DATA, fs.readFileSync(trace)));
  ask(METHOD.finalize, Buffer.alloc(0));
  process.stdout.write(JSON.stringify(queries.map(rows)));
}
self.onmessage({ data: port });
// What it is about to do when it has begun comes first.
setImmediate(run);
