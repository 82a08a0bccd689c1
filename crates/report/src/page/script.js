"use strict";
// Values on hover and by arrow keys, and series to switch off. The page says the same without it.

// 12 345 ns → 12.3 µs
function time(ns) {
  const size = Math.abs(ns);
  const [unit, scale] = size < 1e3 ? ["ns", 1] : size < 999500 ? ["µs", 1e3] : size < 999.5e6 ? ["ms", 1e6] : ["s", 1e9];
  return Number((ns / scale).toPrecision(3)) + " " + unit;
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

function words(heading, value) {
  if (heading.endsWith("ns")) return heading.replace(/[ _]ns$/, "") + ": " + time(Number(value));
  if (heading.endsWith("_s")) return heading.replace("_s", "") + ": " + value + " s";
  if (heading === "percentile") return value + " % of wake-ups at most:";
  return heading + ": " + value;
}

// Where a row of the data is along the axis: the axis of percentiles counts nines.
function along(heading, value) {
  return heading === "percentile" ? -Math.log10(1 - value / 100) : Number(value);
}

function place(chart, value) {
  const { from, to, left, right, log } = chart.dataset;
  const share = log === "1" ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
  return Number(left) + Math.min(1, Math.max(0, share)) * (right - left);
}

function hover(panel) {
  const link = panel.querySelector(".data a");
  const charts = [...panel.querySelectorAll("svg.chart[data-from]")];
  if (!link || !charts.length) return;
  let rows, headings;
  const read = () => {
    if (rows) return;
    [headings, ...rows] = records(decodeURIComponent(link.href.slice(link.href.indexOf(",") + 1)));
  };
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  const cursor = document.createElement("div");
  cursor.className = "cursor";
  tip.hidden = cursor.hidden = true;
  panel.append(tip, cursor);
  let current = 0;
  const shows = value => value !== "" && value !== "0";
  const show = chart => {
    const row = rows[current];
    const box = chart.getBoundingClientRect(), around = panel.getBoundingClientRect();
    const x = place(chart, along(headings[0], row[0])) * box.width / chart.viewBox.baseVal.width;
    tip.textContent = row.map((value, n) => n < 2 || shows(value) ? words(headings[n], value) : "").filter(Boolean).join("\n");
    tip.hidden = cursor.hidden = false;
    const left = box.left - around.left + x;
    cursor.style.left = left + "px";
    cursor.style.top = box.top - around.top + "px";
    cursor.style.height = box.height + "px";
    tip.style.top = box.top - around.top + 4 + "px";
    const room = left + tip.offsetWidth + 12 < around.width;
    tip.style.left = (room ? left + 10 : Math.max(0, left - tip.offsetWidth - 10)) + "px";
  };
  const hide = () => { tip.hidden = cursor.hidden = true; };
  for (const chart of charts) {
    chart.addEventListener("pointermove", event => {
      read();
      const box = chart.getBoundingClientRect();
      const x = (event.clientX - box.left) * chart.viewBox.baseVal.width / box.width;
      const distance = row => Math.abs(place(chart, along(headings[0], row[0])) - x);
      current = rows.reduce((best, row, n) => distance(row) < distance(rows[best]) ? n : best, 0);
      show(chart);
    });
    chart.addEventListener("pointerleave", hide);
    chart.setAttribute("tabindex", "0");
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      read();
      event.preventDefault();
      current = Math.min(rows.length - 1, Math.max(0, current + step));
      show(chart);
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

for (const panel of document.querySelectorAll(".panel")) {
  hover(panel);
  switches(panel);
}
