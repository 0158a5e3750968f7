// Notices: width alarms, and a paused or archived experiment.

import { h, keyed, put, say, shown } from "/page/dom.js";

/** Return a command line as an element that can be selected and scrolled. */
export function command(text) {
  return h("pre", { tabindex: "0", "aria-label": "Command" }, h("code", {}, text));
}

const quoted = (text) => `'${text.replaceAll("'", `'"'"'`)}'`;

/** Return a curl command for a request with a JSON body. */
export function curl(method, path, body, insecure) {
  const key = insecure ? [] : [`  -H "Authorization: Bearer $KEY"`];
  const lines = [`curl -X ${method} ${location.origin}${path}`, ...key, "  -H 'Content-Type: application/json'"];
  return [...lines, `  -d ${quoted(JSON.stringify(body))}`].join(" \\\n");
}

const RESPONSES = {
  warn: "The policy still uses this width, so it may miss the best arm.",
  widen: "The policy ignores this width from now on.",
};

function alarmNotice({ path, insecure }) {
  const [title, message] = [h("strong"), h("p")];
  const code = command("");
  const advice = "What to do: look for arms that do not belong to this group. Then declare a larger width for it, or none (null):";
  const node = h("div", { class: "notice alarm", role: "alert" }, title, message, h("p", {}, advice), code);
  const update = ({ alarm, state }) => {
    say(title, `Width alarm in group ${shown(alarm.group, 80)}`);
    say(message, `${shown(alarm.message, 600)} ${RESPONSES[state.settings?.alarm] ?? ""}`);
    // The request replaces all widths, so the others are repeated.
    const widths = state.groups.map((one) => [one.group, one.group === alarm.group ? null : one.width]);
    say(code.firstChild, curl("PATCH", path, { widths: Object.fromEntries(widths) }, insecure));
  };
  return { node, update };
}

function plainNotice() {
  const node = h("div", { class: "notice" });
  return { node, update: ({ text }) => say(node, text) };
}

const STATES = {
  paused: "This experiment is paused. Requests for decisions are refused; rewards of earlier decisions are still learned.",
  archived: "This experiment is archived. It makes no more decisions.",
};

/** Return the list of notices of an experiment. */
export function notices(path, insecure) {
  const node = h("div", { class: "notices", id: "notices" });
  const update = (state) => {
    const alarms = state.alarms.map((alarm) => ({ key: `alarm ${alarm.group}`, alarm, state, path, insecure }));
    const text = STATES[state.state];
    const items = [...(text ? [{ key: `state ${state.state}`, text }] : []), ...alarms];
    keyed(node, items, (item) => item.key, (item) => (item.alarm ? alarmNotice(item) : plainNotice()));
  };
  return { node, update };
}

/** Return the instructions for the first decision, shown until there is one. */
export function firstDecision(path, insecure) {
  const node = h(
    "section",
    { class: "panel", id: "first" },
    h("h2", {}, "No decisions yet"),
    h("p", {}, "Request a decision. The answer has the arm to use and the id of the decision:"),
    command(curl("POST", `${path}/decisions`, {}, insecure)),
    h("p", {}, "Then report its reward:"),
    command(curl("POST", "/v1/decisions/ID/reward", { value: 1 }, insecure)),
  );
  return { node, update: (state) => put(node, "hidden", state.decisions > 0 || state.state !== "running") };
}
