"use strict";
// What is under the pointer or chosen by the arrow keys, in a line above the picture; series to switch off, tables to
// sort. The page says the same without it.

// 12 345 ns → 12.3 µs
function time(ns) {
  const size = Math.abs(ns);
  const [unit, scale] = size < 999.5 ? ["ns", 1] : size < 999500 ? ["µs", 1e3] : size < 999.5e6 ? ["ms", 1e6] : ["s", 1e9];
  return String(Number((ns / scale).toPrecision(3))).replace("-", "−") + " " + unit;
}

// Fields may be quoted, as the CSV of a name with a comma is.
function records(csv) {
  const field = /("(?:[^"]|"")*"|[^,]*)(,|$)/g;
  return csv.trim().split("\n").map(line => {
    const fields = [];
    for (const [, text, end] of line.matchAll(field)) {
      fields.push(text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text);
      if (!end) break;
    }
    return fields;
  });
}

// Where a row of the data is along the axis: the axis of percentiles counts nines.
function along(heading, value) {
  return heading === "percentile" ? -Math.log10(1 - value / 100) : Number(value);
}

function share(value, from, to, log) {
  const place = log === "1" ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  return Math.min(1, Math.max(0, place));
}

function across(chart, value) {
  const { from, to, left, right, log } = chart.dataset;
  return Number(left) + share(value, from, to, log) * (right - left);
}

function upward(chart, value) {
  const { low, high, top, bottom, upLog } = chart.dataset;
  return Number(bottom) - share(value, low, high, upLog) * (bottom - top);
}

// One value of one series, in words.
function words(headings, row, column) {
  const [by, name] = [headings[0], headings[column].replace(/ ns$/, "")];
  const value = time(Number(row[column]));
  // Two digits of the share that is left: 99.54 %.
  if (by === "percentile") return `${name}: ${Number((100 - Number((100 - row[0]).toPrecision(2))).toFixed(9))} % within ${value}`;
  if (by === "from_s") return `${Number(row[0]).toFixed(1)} s after the start: the worst ${value}`;
  if (by === "number") return `sleep ${row[0]} ${name}: ${value}`;
  return `${name}: ${value} at ${time(Number(row[0]))}`;
}

// The columns that are drawn as series; intervals belong to theirs.
function columns(headings) {
  const drawn = headings.map((heading, n) => n).filter(n => n > 0 && / ns$/.test(headings[n]) && !/ (low|high)_ns$/.test(headings[n]));
  return drawn.length ? drawn : [headings.indexOf("max_ns")].filter(n => n > 0);
}

function values(panel, tip) {
  const link = panel.querySelector(".data a");
  const charts = [...panel.querySelectorAll("svg.chart[data-from]")];
  if (!link || !charts.length) return;
  let rows, headings, series;
  const read = () => {
    if (rows) return;
    [headings, ...rows] = records(decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1)));
    series = columns(headings);
  };
  const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  ring.setAttribute("r", 4);
  ring.setAttribute("class", "at");
  let [row, column] = [0, 0];
  const legend = [...panel.querySelectorAll(".legend li button")];
  // Series that have been switched off are not told of.
  const isOn = n => !legend.length || legend[n]?.getAttribute("aria-pressed") !== "false";
  const has = (n, r) => isOn(n) && rows[r][series[n]] !== "";
  const show = chart => {
    ring.setAttribute("cx", across(chart, along(headings[0], rows[row][0])));
    ring.setAttribute("cy", upward(chart, Number(rows[row][series[column]])));
    chart.append(ring);
    tip.textContent = words(headings, rows[row], series[column]);
  };
  const hide = () => { ring.remove(); tip.textContent = ""; };
  const nearest = (all, distance) => all.reduce((best, one) => distance(one) < distance(best) ? one : best, all[0]);
  for (const chart of charts) {
    chart.addEventListener("pointermove", event => {
      if (event.target.closest(".mark")) return;
      read();
      const box = chart.getBoundingClientRect();
      const scale = chart.viewBox.baseVal.width / box.width;
      const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
      row = nearest(rows.map((_, n) => n), n => Math.abs(across(chart, along(headings[0], rows[n][0])) - x));
      const there = series.map((_, n) => n).filter(n => has(n, row));
      if (!there.length) return hide();
      column = nearest(there, n => Math.abs(upward(chart, Number(rows[row][series[n]])) - y));
      show(chart);
    });
    chart.addEventListener("pointerleave", hide);
    chart.setAttribute("tabindex", "0");
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", event => {
      const [step, other] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] || [];
      if (event.key === "Escape") hide();
      if (step === undefined) return;
      read();
      event.preventDefault();
      row = Math.min(rows.length - 1, Math.max(0, row + step));
      const there = series.map((_, n) => n).filter(n => has(n, row));
      if (!there.length) return;
      const place = there.indexOf(column);
      column = there[place < 0 ? 0 : (place + other + there.length) % there.length];
      show(chart);
    });
  }
}

// Rows, pieces and marks that each have something to say of their own.
function told(panel, tip) {
  for (const title of panel.querySelectorAll("svg.chart g > title")) {
    title.parentNode.dataset.tip = title.textContent;
    title.remove();
  }
  for (const chart of panel.querySelectorAll("svg.chart:has([data-tip])")) {
    const all = [...chart.querySelectorAll("[data-tip]")];
    let current;
    const show = one => {
      current?.classList.remove("at");
      current = one;
      current?.classList.add("at");
      tip.textContent = one ? one.dataset.tip : "";
    };
    chart.addEventListener("pointerover", event => {
      const one = event.target.closest("[data-tip]");
      if (one || !chart.dataset.from) show(one);
    });
    chart.addEventListener("click", event => {
      if (event.target.closest(".mark")) (document.querySelector("#worst, #why") || panel.closest("figure")).scrollIntoView();
    });
    chart.addEventListener("pointerleave", () => show());
    if (chart.dataset.from) continue;
    chart.setAttribute("tabindex", "0");
    chart.addEventListener("blur", () => show());
    chart.addEventListener("keydown", event => {
      const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") show();
      if (!step) return;
      event.preventDefault();
      show(all[Math.min(all.length - 1, Math.max(0, all.indexOf(current) + step))]);
    });
  }
}

function switches(panel) {
  for (const item of panel.querySelectorAll(".legend li")) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.append(...item.childNodes);
    item.append(button);
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", on);
      for (const mark of panel.querySelectorAll(".chart ." + item.dataset.series)) mark.classList.toggle("off", !on);
    });
  }
}

// What a cell is sorted by: 1 234, 12.3 µs, 4 %; words by themselves, nothing last. A second line of it does not count.
function key(cell) {
  const nodes = [...(cell?.childNodes ?? [])];
  const end = nodes.findIndex((node) => node.nodeName === "BR");
  const first = end < 0 ? nodes : nodes.slice(0, end);
  const text = first.map((node) => node.textContent).join("").trim().replaceAll("−", "-");
  const number = /^([-+]?\d[\d\s]*(?:\.\d+)?)\s?(ns|µs|ms|s|min|h)?\b/.exec(text);
  const unit = { ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
  if (number) return [0, Number(number[1].replaceAll(/\s/g, "")) * (unit[number[2]] ?? 1), text];
  return [text === "–" || text === "" ? 2 : 1, 0, text];
}

function compared(one, other) {
  return one[0] - other[0] || one[1] - other[1] || one[2].localeCompare(other[2]);
}

function sorting(table) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 3) return;
  for (const [place, heading] of [...table.tHead.rows[0].cells].entries()) {
    if (!heading.textContent) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].map(row => [key(row.cells[place]), row]);
      rows.sort(([one], [other]) => one[0] === 2 || other[0] === 2 ? one[0] - other[0] : up ? compared(one, other) : compared(other, one));
      body.append(...rows.map(([, row]) => row));
    });
  }
}

for (const panel of document.querySelectorAll(".panel")) {
  const tip = panel.querySelector(".tip");
  switches(panel);
  values(panel, tip);
  told(panel, tip);
}
document.querySelectorAll("table").forEach(sorting);
