// One row of the arms chart as SVG: positions are percentages, so that a strip scales without redrawing.

import { put, s } from "/page/dom.js";

const MIDDLE = 10;
const HEIGHT = 20;

const clipped = (place) => Math.min(Math.max(place, 0), 1);
const percentage = (place) => `${(100 * clipped(place)).toFixed(2)}%`;

/** Return the parts that all strips share: grid lines, the band of the declared width, the line of the best mean. */
function background() {
  const grid = s("g", { class: "grid" });
  const band = s("rect", { class: "band", y: 1, height: HEIGHT - 2, rx: 3 });
  const best = s("line", { class: "best-line", y1: 0, y2: HEIGHT });
  const update = (axis, span, bestMean) => {
    while (grid.childNodes.length > axis.ticks.length) grid.lastChild.remove();
    while (grid.childNodes.length < axis.ticks.length) grid.append(s("line", { y1: 0, y2: HEIGHT }));
    axis.ticks.forEach((tick, i) => {
      for (const name of ["x1", "x2"]) put(grid.childNodes[i], name, percentage(axis.place(tick)));
    });
    put(band, "display", span ? null : "none");
    if (span) {
      const [from, to] = span.map((value) => clipped(axis.place(value)));
      put(band, "x", percentage(from));
      put(band, "width", `${(100 * (to - from)).toFixed(2)}%`);
    }
    put(best, "display", bestMean === null ? "none" : null);
    if (bestMean !== null) for (const name of ["x1", "x2"]) put(best, name, percentage(axis.place(bestMean)));
  };
  return { nodes: [grid, band, best], update };
}

const frame = (...children) => s("svg", { class: "strip", height: HEIGHT, "aria-hidden": "true" }, ...children);

/** Return the strip of one arm: a dot at its mean, a whisker from low to high, arrows where they leave the axis. */
export function armStrip() {
  const back = background();
  const whisker = s("line", { class: "whisker", y1: MIDDLE, y2: MIDDLE });
  const left = s("path", { class: "arrow", d: "M0 10l6-4v8z" });
  const right = s("svg", { x: "100%", overflow: "visible" }, s("path", { class: "arrow", d: "M0 10l-6-4v8z" }));
  const dot = s("path", { class: "dot" });
  const place = s("svg", { overflow: "visible" }, dot);
  const node = frame(...back.nodes, whisker, left, right, place);
  const update = (axis, arm, span, best) => {
    back.update(axis, span, best ? best.mean : null);
    const known = arm.mean !== null;
    const [low, high] = [axis.place(arm.low ?? arm.mean ?? 0), axis.place(arm.high ?? arm.mean ?? 0)];
    put(whisker, "display", known ? null : "none");
    put(whisker, "x1", percentage(low));
    put(whisker, "x2", percentage(high));
    put(left, "display", known && low < 0 ? null : "none");
    put(right, "display", known && high > 1 ? null : "none");
    put(place, "display", known ? null : "none");
    put(place, "x", percentage(axis.place(arm.mean ?? 0)));
    const isBest = best !== null && best.arm === arm.arm;
    put(dot, "d", isBest ? "M0 3.5l6.5 6.5l-6.5 6.5l-6.5-6.5z" : "M-4.5 10a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z");
  };
  return { node, update };
}

/** Return the strip of a group: one short line per arm at its mean, in one path, so that many arms are fast. */
export function groupStrip() {
  const back = background();
  const marks = s("path", { class: "rug", "vector-effect": "non-scaling-stroke" });
  const retired = s("path", { class: "rug gone", "vector-effect": "non-scaling-stroke" });
  const box = { viewBox: "0 0 1000 20", preserveAspectRatio: "none", width: "100%", height: HEIGHT };
  const node = frame(...back.nodes, s("svg", box, retired, marks));
  const update = (axis, arms, span, best) => {
    back.update(axis, span, best ? best.mean : null);
    const path = (wanted) =>
      arms
        .filter((arm) => arm.mean !== null && arm.retired === wanted)
        .map((arm) => `M${(1000 * clipped(axis.place(arm.mean))).toFixed(1)} 4v12`)
        .join("");
    put(marks, "d", path(false));
    put(retired, "d", path(true));
  };
  return { node, update };
}
