// One experiment: headline numbers, arms, history, decisions and changes, kept up to date.

import { changesPanel, decisionsPanel } from "/page/activity.js";
import { experimentPath, json } from "/page/api.js";
import { armsPanel } from "/page/arms.js";
import { colourBook } from "/page/colours.js";
import { confirm, h, put, say, sayName } from "/page/dom.js";
import { count, duration, moment, plural, real } from "/page/format.js";
import { historyPanel } from "/page/history.js";
import { follow } from "/page/live.js";
import { firstDecision, notices } from "/page/notices.js";
import { stateBadge } from "/page/overview.js";

// The shortest time between two requests for data that the stream does not contain, in milliseconds.
const FETCH_EVERY = 2000;

function headline() {
  const tile = (key, name) => {
    const [value, hint] = [h("dd", { class: "figure", "data-value": key }), h("dd", { class: "soft" })];
    return { node: h("div", { class: "tile" }, h("dt", {}, name), value, hint), value, hint };
  };
  const tiles = {
    decisions: tile("decisions", "Decisions"),
    pulls: tile("pulls", "Rewards learned"),
    open: tile("open", "Open decisions"),
    mean: tile("mean", "Mean reward"),
    regret: tile("regret", "Estimated regret"),
    best: tile("best", "Best arm so far"),
  };
  const node = h("dl", { class: "tiles", id: "headline" }, ...Object.values(tiles).map((one) => one.node));
  tiles.best.node.classList.add("text");
  const update = (state) => {
    say(tiles.decisions.value, count(state.decisions));
    say(tiles.pulls.value, count(state.pulls));
    const lost = [["late", state.late], ["cancelled", state.cancelled], ["set to the default", state.defaulted]];
    say(tiles.pulls.hint, lost.filter(([, n]) => n).map(([name, n]) => `${count(n)} ${name}`).join(", "));
    say(tiles.open.value, count(state.open));
    say(tiles.open.hint, "awaiting a reward");
    say(tiles.mean.value, real(state.mean));
    say(tiles.regret.value, real(state.regret, 3));
    say(tiles.regret.hint, "against the best arm so far");
    const best = state.arms.find((arm) => arm.arm === state.best);
    sayName(tiles.best.value, best ? best.arm : "–");
    say(tiles.best.hint, best && best.mean !== null ? `mean ${real(best.mean)} of ${plural(best.pulls, "reward")}` : "");
  };
  return { node, update };
}

function describe(state) {
  const parts = [
    `Policy ${state.policy}`,
    `${state.family} rewards`,
    `${plural(state.arms.length, "arm")} in ${plural(state.groups.length, "group")}`,
    state.window === null ? "decisions stay open" : `decisions close after ${duration(state.window)}`,
  ];
  if (state.explore) parts.push(`${real(100 * state.explore, 2)} % uniform exploration`);
  return `${parts.join(" · ")} · created ${moment(state.created_at)}`;
}

/** Return the buttons of an administrator. */
function controls(name, onState) {
  const act = (verb, title, text, yes) => {
    const action = async () => onState(await json(experimentPath(name, `/${verb}`), { method: "POST" }));
    return () => confirm({ title, text, yes }, action);
  };
  const stop = act(
    "pause",
    `Pause ${name}?`,
    "Requests for decisions will be refused with status 409 until you resume the experiment. Rewards of earlier decisions are still learned.",
    "Pause",
  );
  const go = act("resume", `Resume ${name}?`, "The experiment will make decisions again. It keeps all that it has learned.", "Resume");
  const pause = h("button", { type: "button", id: "pause", onclick: stop }, "Pause");
  const resume = h("button", { type: "button", id: "resume", class: "primary", onclick: go }, "Resume");
  const update = (state) => {
    const [from, to] = state.state === "paused" ? [pause, resume] : [resume, pause];
    const focused = document.activeElement === from;
    put(pause, "hidden", state.state !== "running");
    put(resume, "hidden", state.state !== "paused");
    if (focused) to.focus();
  };
  return { node: h("div", { class: "buttons" }, pause, resume), update };
}

/** Return a text that changes only when someone changes the experiment. */
function configuration(state) {
  const widths = state.groups.map((one) => one.width);
  const retired = state.arms.reduce((n, arm) => n + (arm.retired ? 1 : 0), 0);
  const { policy, settings, window, default_reward: fallback, explore } = state;
  return JSON.stringify([state.state, policy, settings, window, fallback, explore, widths, state.arms.length, retired]);
}

/** Show an experiment in `main`; return the function that ends it. */
export function experiment(main, name, { me, onStatus, onRefused }) {
  const path = experimentPath(name);
  const colours = colourBook();
  const badge = stateBadge();
  const about = h("p", { class: "soft about" });
  const admin = me.roles.includes("admin") && (me.experiments === null || me.experiments.includes(name));
  const buttons = admin ? controls(name, (state) => onState(state)) : null;
  const first = firstDecision(path, me.insecure);
  const parts = [headline(), armsPanel(colours)];
  const alarms = notices(path, me.insecure);
  const history = historyPanel(colours);
  const [decisions, changes] = [decisionsPanel(), changesPanel()];
  const title = h("h1", { tabindex: "-1", class: "name" }, name);
  const head = h("div", { class: "title" }, title, badge.node, buttons?.node);
  const back = h("p", { class: "back" }, h("a", { href: "#/" }, "← All experiments"));
  const lower = h("div", { class: "columns" }, decisions.node, changes.node);
  const content = h("div", { hidden: true }, alarms.node, parts[0].node, first.node, parts[1].node, history.node, lower);
  const loading = h("p", { class: "soft" }, "Loading …");
  main.replaceChildren(back, head, about, loading, content);
  document.title = `${name} · clusterbandits`;

  let [latest, drawn, fetched, known] = [null, null, null, null];
  let [fetching, connected, ended] = [false, false, false];

  const draw = () => {
    if (ended || latest === null || latest === drawn || document.hidden) return;
    drawn = latest;
    colours.update(drawn.groups);
    badge.update(drawn.state);
    say(about, describe(drawn));
    loading.remove();
    put(content, "hidden", false);
    for (const part of [...parts, alarms, first, ...(buttons ? [buttons] : [])]) part.update(drawn);
    const none = drawn.decisions === 0;
    put(history.node, "hidden", none);
    put(decisions.node, "hidden", none);
    refresh();
  };
  const refresh = async () => {
    if (fetching || ended || !connected || document.hidden || drawn === null || fetched === drawn.seq) return;
    fetching = true;
    const { seq } = drawn;
    const signature = configuration(drawn);
    try {
      const [past, recent, made] = await Promise.all([
        json(`${path}/history`),
        json(`${path}/decisions?limit=20`),
        signature === known ? null : json(`${path}/changes`),
      ]);
      if (ended) return;
      history.update(past);
      decisions.update(recent.decisions);
      if (made !== null) changes.update(made.changes);
      [fetched, known] = [seq, signature];
    } catch {
      // The stream reports lost connections; this request is repeated below.
    } finally {
      setTimeout(() => {
        fetching = false;
        if (!ended) refresh();
      }, FETCH_EVERY);
    }
  };
  const onState = (state) => {
    latest = state;
    requestAnimationFrame(draw);
  };
  const onSeen = () => {
    draw();
    refresh();
  };
  const onConnection = (value) => {
    connected = value === "live";
    onStatus(value);
    refresh();
  };
  document.addEventListener("visibilitychange", onSeen);
  const stop = follow(path, `${path}/live`, { onState, onStatus: onConnection, onRefused });
  return () => {
    ended = true;
    document.removeEventListener("visibilitychange", onSeen);
    stop();
  };
}
