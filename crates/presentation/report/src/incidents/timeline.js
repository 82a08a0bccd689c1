
// A wait and what all CPUs did around it, at any scale: drawn anew for each, as wide as the page has room.
function zoomable(figure) {
  const source = figure.querySelector('script[type="application/json"]');
  const panel = figure.querySelector(".panel");
  if (!source || !panel) return;
  const { latency, lanes, who } = JSON.parse(source.textContent);
  const [LANE, TOP, BAR, BOTTOM, SIDE, LETTER] = [38, 6, 16, 40, 8, 6.6];
  const all = lanes.flatMap(lane => lane.stretches);
  const first = all.reduce((least, [from]) => Math.min(least, from), 0);
  const last = all.reduce((most, [from, ns]) => Math.max(most, from + ns), latency);
  const wait = [Math.max(first, -0.15 * latency), Math.min(last, 1.15 * latency)];
  let [from, until] = wait;
  const make = (name, attributes, text) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const chart = make("svg", { class: "chart zoomed", role: "img", tabindex: "0", "aria-label": panel.querySelector("svg").getAttribute("aria-label") });
  const tip = panel.querySelector(".tip");
  const height = TOP + LANE * lanes.length + BOTTOM;
  const width = () => Math.max(280, panel.clientWidth);
  const x = ns => SIDE + (ns - from) / (until - from) * (width() - 2 * SIDE);
  const at = pixels => from + (pixels - SIDE) / (width() - 2 * SIDE) * (until - from);

  function lane({ name, stretches }, number) {
    const top = TOP + LANE * number;
    const group = make("g", {});
    group.append(make("rect", { class: "ground", x: SIDE, y: top + BAR, width: width() - 2 * SIDE, height: 18 }));
    let [low, high] = [0, stretches.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (stretches[middle][0] + stretches[middle][1] < from) low = middle + 1; else high = middle;
    }
    let end = -1;
    for (let n = low; n < stretches.length && stretches[n][0] < until; n += 1) {
      const [begin, ns, number] = stretches[n];
      const left = Math.max(SIDE, x(begin));
      const right = Math.min(width() - SIDE, x(begin + ns));
      // What is covered by its neighbour on this scale.
      if (right < end + 0.4) continue;
      const [label, hue] = who[number];
      const wide = Math.max(0.8, right - left);
      const one = make("rect", { class: "piece " + hue, x: left.toFixed(2), y: top + BAR, width: wide.toFixed(2), height: 18 });
      one.dataset.words = `${label}: ${time(ns)}, from ${time(begin)} after the wait began`;
      group.append(one);
      end = left + wide;
      const letters = Math.floor((wide - 8) / LETTER);
      if (letters < 5 && letters < label.length) continue;
      const short = label.length <= letters ? label : label.slice(0, letters - 1) + "…";
      group.append(make("text", { class: "piece-name " + hue, x: (left + 4).toFixed(2), y: top + BAR + 13 }, short));
    }
    group.append(make("text", { class: "row-name", x: SIDE, y: top + 12 }, name));
    return group;
  }

  function axis() {
    const group = make("g", { class: "ticks" });
    const most = Math.max(2, Math.floor(width() / 90));
    const rough = (until - from) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(one => one * power).find(one => one >= rough);
    const bottom = height - BOTTOM;
    for (let tick = Math.ceil(from / step) * step; tick <= until; tick += step) {
      group.append(make("path", { class: "tick", d: `M${x(tick).toFixed(1)} ${bottom}v5` }));
      group.append(make("text", { x: x(tick).toFixed(1), y: bottom + 17, "text-anchor": "middle" }, tick === 0 ? "0" : time(Math.round(tick))));
    }
    group.append(make("text", { class: "axis", x: width() / 2, y: bottom + 35, "text-anchor": "middle" }, "after the wait began"));
    return group;
  }

  function draw() {
    chart.setAttribute("viewBox", `0 0 ${width()} ${height}`);
    const [left, right] = [0, latency].map(ns => Math.min(width() - SIDE, Math.max(SIDE, x(ns))));
    const shade = make("rect", { class: "shade", x: left, y: 0, width: Math.max(0, right - left), height: height - BOTTOM });
    chart.replaceChildren(shade, ...lanes.map(lane), axis());
  }

  // No closer than 10 µs, no further than what is known.
  function show(begin, end) {
    const length = Math.min(last - first, Math.max(1e4, end - begin));
    const middle = (begin + end) / 2;
    from = Math.min(last - length, Math.max(first, middle - length / 2));
    until = from + length;
    draw();
  }
  const zoom = (factor, around = (from + until) / 2) => show(around - (around - from) * factor, around + (until - around) * factor);
  const move = share => show(from + share * (until - from), until + share * (until - from));
  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => show(...wait), "1": () => show(first, last),
    ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), ArrowUp: () => zoom(0.5), ArrowDown: () => zoom(2),
  };
  chart.addEventListener("keydown", event => {
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  chart.addEventListener("wheel", event => {
    // Without a key the wheel is the page's.
    if (!event.ctrlKey && !event.shiftKey && !event.metaKey) return;
    event.preventDefault();
    zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, at(event.clientX - chart.getBoundingClientRect().left));
  }, { passive: false });
  let held;
  chart.addEventListener("pointerdown", event => {
    held = [event.clientX, from, until];
    chart.setPointerCapture(event.pointerId);
  });
  chart.addEventListener("pointermove", event => {
    if (!held) {
      tip.textContent = event.target.dataset?.words ?? "";
      return;
    }
    const [began, begin, end] = held;
    const by = (event.clientX - began) / (width() - 2 * SIDE) * (end - begin);
    show(begin - by, end - by);
  });
  for (const over of ["pointerup", "pointercancel"]) chart.addEventListener(over, () => { held = undefined; });
  chart.addEventListener("pointerleave", () => { tip.textContent = ""; });
  chart.addEventListener("dblclick", event => zoom(0.4, at(event.clientX - chart.getBoundingClientRect().left)));

  const buttons = document.createElement("p");
  buttons.className = "zoom";
  for (const [name, label, key] of [["−", "zoom out", "-"], ["+", "zoom in", "+"], ["the wait", "", "0"], ["all that is known", "", "1"]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    if (label) button.setAttribute("aria-label", label);
    button.addEventListener("click", keys[key]);
    buttons.append(button);
  }
  const how = document.createElement("span");
  how.className = "quiet";
  how.textContent = "Drag to move, double-click or Shift and the wheel to zoom; keys: + − ← → 0 1.";
  buttons.append(how);
  panel.querySelectorAll("svg.chart").forEach(one => one.remove());
  tip.before(buttons);
  tip.after(chart);
  draw();
  new ResizeObserver(draw).observe(panel);
}

document.querySelectorAll("#timeline").forEach(zoomable);
