// The arms as a table that can be sorted and searched.

import { h, keyed, put, say, sayName, searchField } from "/page/dom.js";
import { count, interval, percent, plural, real } from "/page/format.js";

const PAGE = 50;

// Columns marked "wide" are hidden on narrow screens; other cells then show their values in a second line.
const COLUMNS = [
  { name: "Arm", key: (arm) => arm.arm, text: true },
  { name: "Group", key: (arm) => arm.group, text: true, wide: true },
  { name: "Mean", key: (arm) => arm.mean },
  { name: "95 % interval", key: (arm) => arm.low, wide: true },
  { name: "Rewards", key: (arm) => arm.pulls, wide: true },
  { name: "Open", key: (arm) => arm.open, wide: true },
  { name: "Decisions", key: (arm) => arm.decisions },
  { name: "Share", key: (arm) => arm.share, wide: true },
];

function compare(column, down) {
  const sign = down ? -1 : 1;
  return ([, a], [, b]) => {
    const [x, y] = [column.key(a), column.key(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (column.text ? x.localeCompare(y, "en", { numeric: true }) : x - y);
  };
}

function tableRow() {
  const name = h("span", { class: "name" });
  const mark = h("span", { class: "mark" });
  const under = { arm: h("span", { class: "name clip" }), mean: h("span", { class: "under" }), share: h("span", { class: "under" }) };
  const [mean, decisions] = [h("span"), h("span")];
  const number = (...children) => h("td", { class: "number" }, ...children);
  const cells = {
    group: h("span", { class: "name clip" }),
    interval: h("td", { class: "number wide" }),
    pulls: h("td", { class: "number wide" }),
    open: h("td", { class: "number wide" }),
    share: h("td", { class: "number wide" }),
  };
  const node = h(
    "tr",
    {},
    h("th", { scope: "row" }, name, mark, h("span", { class: "under" }, under.arm)),
    h("td", { class: "wide" }, cells.group),
    number(mean, under.mean),
    cells.interval,
    cells.pulls,
    cells.open,
    number(decisions, under.share),
    cells.share,
  );
  const update = ({ arm, best }) => {
    put(node, "class", arm.retired ? "gone" : arm.arm === best ? "best" : null);
    sayName(name, arm.arm, 200);
    say(mark, arm.arm === best ? "best so far" : arm.retired ? "retired" : "");
    sayName(under.arm, arm.group);
    sayName(cells.group, arm.group);
    say(mean, real(arm.mean));
    for (const cell of [under.mean, cells.interval]) say(cell, interval(arm.low, arm.high));
    say(cells.pulls, count(arm.pulls));
    say(cells.open, count(arm.open));
    say(decisions, count(arm.decisions));
    for (const cell of [under.share, cells.share]) say(cell, percent(arm.share));
  };
  return { node, update };
}

/** Return the table, sorted by mean until a column is chosen. */
export function armsTable() {
  let [column, down, limit, last] = [COLUMNS[2], true, PAGE, null];
  const again = () => last && update(last);
  const heads = COLUMNS.map((one) => {
    const choose = () => {
      down = column === one ? !down : !one.text;
      column = one;
      again();
    };
    const button = h("button", { type: "button", class: "sort", onclick: choose }, one.name);
    return h("th", { scope: "col", class: `${one.text ? "" : "number"}${one.wide ? " wide" : ""}` }, button);
  });
  const search = searchField("arm-search", "Find an arm or a group", again);
  const body = h("tbody");
  const more = h("button", { type: "button", class: "link", onclick: () => ((limit += PAGE), again()) }, `Show ${PAGE} more`);
  const node = h(
    "div",
    { class: "arms-table" },
    search.node,
    h("table", {}, h("caption", { class: "hidden" }, "Arms"), h("thead", {}, h("tr", {}, ...heads)), body),
    h("p", { class: "more" }, more),
  );
  const update = (state) => {
    last = state;
    COLUMNS.forEach((one, i) => put(heads[i], "aria-sort", one !== column ? null : down ? "descending" : "ascending"));
    const found = [...state.arms.entries()].filter(([, arm]) => search.fits(arm.arm, arm.group));
    const arms = found.sort(compare(column, down));
    search.say(`${plural(arms.length, "arm")} found`);
    const rows = arms.slice(0, limit).map(([, arm]) => ({ arm, best: state.best }));
    keyed(body, rows, (row) => row.arm.arm, tableRow);
    put(more, "hidden", arms.length <= limit);
  };
  return { node, update };
}
