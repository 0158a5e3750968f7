// A plot over time: axes and labels in HTML, curves and areas in an SVG that scales to any width.

import { h, put, s, say } from "/page/dom.js";
import { clock, day, moment, tickLabels } from "/page/format.js";
import { axis, timeTicks } from "/page/scale.js";

const TIME_TICKS = 4;
const VALUE_TICKS = 4;

const x1000 = (place) => (1000 * place).toFixed(1);

function timeLabel(step) {
  if (step >= 86400) return day;
  return step >= 60 ? (seconds) => clock(seconds).slice(0, 5) : clock;
}

/** Return the path of a line through points [x, y] in 0..1; a null y leaves a gap. */
export function linePath(points) {
  let pen = "M";
  let path = "";
  for (const [x, y] of points) {
    if (y === null) pen = "M";
    else {
      path += `${pen}${x1000(x)} ${x1000(1 - y)}`;
      pen = "L";
    }
  }
  return path;
}

/** Return the path of an area between two lines of points with the same x. */
export function areaPath(points) {
  const top = points.map(([x, , y]) => `${x1000(x)} ${x1000(1 - y)}`);
  const bottom = points.map(([x, y]) => `${x1000(x)} ${x1000(1 - y)}`).reverse();
  return points.length ? `M${[...top, ...bottom].join("L")}Z` : "";
}

/** Return at most `most` evenly spaced indices, the last one included. */
export function thinned(length, most) {
  if (length <= most) return Array.from({ length }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.round((i * (length - 1)) / (most - 1)));
}

/**
 * Return a plot with a title. `draw({from, to, low, high, valueLabels, describe, readout, shapes})` shows data:
 * `shapes(place, axis)` returns [{class, d}], `describe` is the text alternative, and `readout(seconds)` returns the
 * text for the moment under the pointer, or null.
 */
export function plot(title, hint = "") {
  const readout = h("p", { class: "readout soft" }, hint);
  const values = h("div", { class: "values", "aria-hidden": "true" });
  const times = h("div", { class: "times", "aria-hidden": "true" });
  const grid = s("g", { class: "grid" });
  const shapes = s("g", {});
  const cursor = s("line", { class: "cursor", y1: 0, y2: 1000, display: "none", "vector-effect": "non-scaling-stroke" });
  const svg = s("svg", { viewBox: "0 0 1000 1000", preserveAspectRatio: "none", role: "img" }, grid, shapes, cursor);
  const area = h("div", { class: "area" }, svg);
  const node = h("figure", { class: "plot" }, h("figcaption", {}, h("h3", {}, title), readout), h("div", { class: "frame" }, values, area, times));
  let current = null;

  const at = (event) => {
    const box = area.getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  };
  const point = (place) => {
    const text = current?.readout(current.from + place * (current.to - current.from));
    if (!text) return leave();
    put(cursor, "display", null);
    for (const name of ["x1", "x2"]) put(cursor, name, x1000(place));
    say(readout, text);
    return undefined;
  };
  const leave = () => {
    put(cursor, "display", "none");
    say(readout, hint);
  };
  area.addEventListener("pointermove", (event) => point(at(event)));
  area.addEventListener("pointerdown", (event) => point(at(event)));
  area.addEventListener("pointerleave", leave);

  const placed = (parent, texts, side, places) => {
    const labels = texts.map((text, i) => {
      const label = h("span", {}, text);
      label.style[side] = `${100 * places[i]}%`;
      return label;
    });
    parent.replaceChildren(...labels);
    return labels;
  };
  const draw = (data) => {
    current = data;
    const { from, to } = data;
    const vertical = data.axis ?? axis(data.low, data.high, VALUE_TICKS, 0.02);
    const across = (seconds) => (seconds - from) / (to - from);
    const { ticks, step } = timeTicks(from, to, TIME_TICKS);
    const room = times.getBoundingClientRect();
    for (const label of placed(times, ticks.map(timeLabel(step)), "left", ticks.map(across))) {
      const box = label.getBoundingClientRect();
      // Half a label would show another time.
      if (box.left < room.left || box.right > room.right) label.style.visibility = "hidden";
    }
    placed(values, data.labels ?? tickLabels(vertical.ticks, vertical.step), "bottom", vertical.ticks.map(vertical.place));
    const line = (x1, x2, y1, y2) => s("line", { x1, x2, y1, y2, "vector-effect": "non-scaling-stroke" });
    grid.replaceChildren(
      ...vertical.ticks.map((tick) => line(0, 1000, x1000(1 - vertical.place(tick)), x1000(1 - vertical.place(tick)))),
    );
    const made = data.shapes(across, vertical.place);
    while (shapes.childNodes.length > made.length) shapes.lastChild.remove();
    while (shapes.childNodes.length < made.length) shapes.append(s("path", { "vector-effect": "non-scaling-stroke" }));
    made.forEach((one, i) => {
      put(shapes.childNodes[i], "class", one.class);
      put(shapes.childNodes[i], "d", one.d);
    });
    put(svg, "aria-label", data.describe);
  };
  return { node, draw };
}

/** Return a table of the data in plots; rows are created only while it is open. */
export function dataTable(caption) {
  const head = h("tr");
  const body = h("tbody");
  const table = h("table", {}, h("caption", { class: "hidden" }, caption), h("thead", {}, head), body);
  const scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": caption }, table);
  const node = h("details", { class: "data" }, h("summary", {}, "Show as a table"), scroller);
  let make = null;
  const fill = () => {
    if (!node.open || make === null) return;
    const { columns, rows } = make();
    head.replaceChildren(...columns.map((name, i) => h("th", { scope: "col", class: i ? "number" : "" }, name)));
    const cell = (text, i) => (i ? h("td", { class: "number" }, text) : h("th", { scope: "row" }, text));
    body.replaceChildren(...rows.map((row) => h("tr", {}, ...row.map(cell))));
  };
  node.addEventListener("toggle", fill);
  const update = (rowsOf) => {
    make = rowsOf;
    fill();
  };
  return { node, update };
}

/** Return the words "from … to …" for a text alternative. */
export function period(from, to) {
  return `from ${moment(from)} to ${moment(to)}`;
}
