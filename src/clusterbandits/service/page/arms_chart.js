// The arms by group: one strip per group, which expands to one strip per arm.

import { h, keyed, put, say, sayName } from "/page/dom.js";
import { count, declared, interval, percent, plural, real, tickLabels } from "/page/format.js";
import { armSpan, bandOf, steadyAxis } from "/page/scale.js";
import { armStrip, groupStrip } from "/page/strip.js";

// The largest number of arms that are all shown at once.
const FEW_ARMS = 24;
const FIRST_ARMS = 8;
const MORE_ARMS = 50;
const FIRST_GROUPS = 30;
// Milliseconds for which rows keep their order, so that they can be read.
const ORDER_KEPT = 5000;

/** The orders of groups and arms, and the values that they compare. */
export const ORDERS = {
  chosen: { name: "most chosen first", arm: (arm) => arm.decisions, group: (group) => group.decisions },
  mean: { name: "largest mean first", arm: (arm) => arm.mean ?? -Infinity, group: (group) => group.mean ?? -Infinity },
  declared: { name: "as declared", arm: () => 0, group: () => 0 },
};

const larger = (x, y) => (x === y ? 0 : y - x);

/** Return the groups of a state with their arms and bands. */
function grouped(state) {
  const arms = new Map(state.groups.map((one) => [one.group, []]));
  for (const arm of state.arms) arms.get(arm.group)?.push(arm);
  return state.groups.map((group) => {
    const members = arms.get(group.group);
    const open = members.filter((arm) => !arm.retired);
    const band = bandOf(group.width, open.length ? open : members);
    return { ...group, members, band };
  });
}

const mostChosen = (all) => all.reduce((a, b) => (b.decisions > a.decisions ? b : a));

function armRow() {
  const name = h("span", { class: "name" });
  const mark = h("span", { class: "mark" });
  const mean = h("span", { class: "mean" });
  const [rest, range, share] = [h("span", { class: "soft" }), h("span"), h("span")];
  rest.append(range, share, h("span", { class: "wide" }, " of decisions"));
  const strip = armStrip();
  const label = h("div", { class: "label" }, name, mark);
  const node = h("li", { class: "row" }, label, strip.node, h("div", { class: "figures" }, mean, rest));
  const update = ({ arm, group, axis, best, colour }) => {
    const isBest = best !== null && best.arm === arm.arm;
    put(node, "class", `row ${arm.retired ? "gone" : colour}${isBest ? " best" : ""}`);
    sayName(name, arm.arm);
    say(mark, isBest ? "best so far" : arm.retired ? "retired" : "");
    say(mean, arm.mean === null ? "no reward yet" : real(arm.mean));
    say(range, arm.low === null || arm.high === null ? "" : `${interval(arm.low, arm.high)} · `);
    say(share, percent(arm.share));
    strip.update(axis, arm, group.band, best);
  };
  return { node, update };
}

function groupBlock(view) {
  const name = h("span", { class: "name" });
  const alarm = h("span", { class: "mark alarm" });
  const button = h(
    "button",
    { type: "button", class: "fold", onclick: () => view.toggle(current.group) },
    h("span", { class: "chevron", "aria-hidden": "true" }),
    h("span", { class: "swatch", "aria-hidden": "true" }),
    name,
  );
  const size = h("span");
  const first = h("span", { class: "mean" }, size, h("span", { class: "wide" }, " of decisions"));
  const second = h("span", { class: "soft" });
  const strip = groupStrip();
  const head = h(
    "div",
    { class: "row head" },
    h("h3", { class: "label" }, button, alarm),
    strip.node,
    h("div", { class: "figures" }, first, second),
  );
  const list = h("ul", { class: "rows" });
  const more = h("button", { type: "button", class: "link", onclick: () => view.more(current.group, MORE_ARMS) });
  const fewer = h("button", { type: "button", class: "link", onclick: () => view.fewer(current.group) }, "Show fewer");
  const foot = h("p", { class: "more" }, more, fewer);
  const node = h("section", { class: "group" }, head, list, foot);
  let current = null;
  const update = ({ group, axis, best, colour }) => {
    current = group;
    const open = view.isOpen(group.group);
    put(node, "class", `group ${colour}`);
    put(button, "aria-expanded", String(open));
    sayName(name, group.group);
    say(alarm, group.alarm ? "width alarm" : "");
    put(alarm, "title", group.alarm);
    say(size, `${plural(group.arms, "arm")}, ${percent(group.share)}`);
    const width = group.width === null ? "no width" : `width ${declared(group.width)}`;
    say(second, `${group.mean === null ? "no reward yet" : `mean ${real(group.mean)}`} · ${width}`);
    strip.update(axis, group.members, group.band, best);
    const shown = open ? view.limit(group) : 0;
    const rows = group.members.slice(0, shown).map((arm) => ({ arm, group, axis, best, colour }));
    keyed(list, rows, (row) => row.arm.arm, armRow);
    const left = group.members.length - shown;
    put(foot, "hidden", !open || group.members.length <= view.firstArms);
    put(more, "hidden", left <= 0);
    say(more, `Show ${count(Math.min(left, MORE_ARMS))} more of ${plural(group.members.length, "arm")}`);
    put(fewer, "hidden", shown <= view.firstArms);
  };
  return { node, update };
}

/**
 * Return a function that sorts groups and their arms: the best arm first in its group, retired arms last. The order
 * is kept for a while, and as long as the pointer or the focus is on the chart.
 */
function ordering(node) {
  let [since, used, places] = [-Infinity, null, new Map()];
  const sort = (groups, rule, best) => {
    const first = (arm) => (best !== null && arm.arm === best.arm && rule !== ORDERS.declared ? 1 : 0);
    groups.sort((a, b) => larger(rule.group(a), rule.group(b)));
    for (const { members } of groups) {
      members.sort((a, b) => a.retired - b.retired || first(b) - first(a) || larger(rule.arm(a), rule.arm(b)));
    }
    const placesOf = ({ members }) => new Map(members.map((arm, i) => [arm.arm, i]));
    places = new Map(groups.map((group, i) => [group.group, { place: i, arms: placesOf(group) }]));
    [since, used] = [performance.now(), rule];
  };
  return (groups, rule, best) => {
    const reading = node.matches(":hover") || node.matches(":focus-within");
    const known = rule === used && groups.every((one) => places.has(one.group));
    if (!known || !(reading || performance.now() - since < ORDER_KEPT)) {
      sort(groups, rule, best);
      return;
    }
    groups.sort((a, b) => places.get(a.group).place - places.get(b.group).place);
    for (const { group, members } of groups) {
      const { arms } = places.get(group);
      members.sort((a, b) => (arms.get(a.arm) ?? Infinity) - (arms.get(b.arm) ?? Infinity));
    }
  };
}

/** Return the chart; `colours` is a colour book that the caller updates. */
export function armsChart(colours) {
  const labels = h("div", { class: "axis" });
  const axisRow = h("div", { class: "row axis-row", "aria-hidden": "true" }, h("div", { class: "label" }), labels, h("div", { class: "figures" }));
  const blocks = h("div", { class: "groups" });
  const moreGroups = h("button", { type: "button", class: "link", onclick: () => view.moreGroups() });
  const node = h("div", { class: "arms-chart" }, axisRow, blocks, h("p", { class: "more" }, moreGroups));
  const order = ordering(node);
  const opened = new Map();
  const limits = new Map();
  let [axis, last, few, groupLimit, rule] = [null, null, true, FIRST_GROUPS, ORDERS.chosen];
  const again = () => last && update(last);
  const view = {
    firstArms: FEW_ARMS,
    isOpen: (group) => opened.get(group) ?? few,
    limit: (group) => Math.min(group.members.length, limits.get(group.group) ?? view.firstArms),
    toggle: (group) => (opened.set(group, !view.isOpen(group)), again()),
    more: (group, n) => (limits.set(group, (limits.get(group) ?? view.firstArms) + n), again()),
    fewer: (group) => (limits.delete(group), again()),
    moreGroups: () => ((groupLimit += FIRST_GROUPS), again()),
  };
  const setAll = (open) => {
    for (const one of last?.groups ?? []) opened.set(one.group, open);
    again();
  };
  const setOrder = (key) => {
    rule = ORDERS[key];
    again();
  };
  const update = (state) => {
    if (last === null) {
      few = state.arms.length <= FEW_ARMS;
      view.firstArms = few ? FEW_ARMS : FIRST_ARMS;
    }
    last = state;
    const groups = grouped(state);
    const best = state.arms.find((arm) => arm.arm === state.best && arm.mean !== null) ?? null;
    order(groups, rule, best);
    if (!few && !opened.size && state.decisions) opened.set(mostChosen(state.groups).group, true);
    const span = armSpan(state.arms) ?? [0, 1];
    axis = steadyAxis(axis, ...span, 6);
    const texts = tickLabels(axis.ticks, axis.step);
    labels.replaceChildren(
      ...texts.map((text, i) => {
        const label = h("span", {}, text);
        label.style.left = `${100 * axis.place(axis.ticks[i])}%`;
        return label;
      }),
    );
    const seen = groups.slice(0, groupLimit).map((group) => ({ group, axis, best, colour: colours.of(group.group) }));
    keyed(blocks, seen, (one) => one.group.group, () => groupBlock(view));
    put(moreGroups, "hidden", groups.length <= groupLimit);
    say(moreGroups, `Show ${count(Math.min(FIRST_GROUPS, groups.length - groupLimit))} more of ${plural(groups.length, "group")}`);
  };
  return { node, update, setAll, setOrder };
}
