// The page: sign-in, and the view that the address names.

import { json, Refused, storedKey, storeKey } from "/page/api.js";
import { h, say } from "/page/dom.js";
import { experiment } from "/page/experiment.js";
import { overview } from "/page/overview.js";

const main = document.getElementById("main");
const status = document.getElementById("status");
const who = document.getElementById("who");
const STATUS = { connecting: "connecting", live: "live", lost: "connection lost, retrying", none: "" };

let me = null;
let leave = () => {};
let first = true;

function onStatus(value) {
  say(status, STATUS[value]);
  status.dataset.state = value;
}

/** Show a message instead of a view. */
function showProblem(title, text, ...more) {
  onStatus("none");
  main.replaceChildren(h("h1", { tabindex: "-1" }, title), h("p", { role: "alert" }, text), ...more);
}

function onRefused(problem) {
  if (problem.status === 401) {
    signIn("Your key is no longer accepted. Sign in again.");
    return;
  }
  const back = location.hash.length > 2 ? h("p", {}, h("a", { href: "#/" }, "← All experiments")) : null;
  showProblem(problem.status === 404 ? "Not found" : "Not allowed", problem.message, ...(back ? [back] : []));
}

/** Show the view that the address names. */
function route() {
  if (me === null) return;
  leave();
  const context = { me, onStatus, onRefused };
  const found = /^#\/experiments\/([^/]+)$/.exec(location.hash);
  let name = null;
  try {
    name = found && decodeURIComponent(found[1]);
  } catch {
    name = null;
  }
  leave = name ? experiment(main, name, context) : overview(main, context);
  if (!first) {
    window.scrollTo(0, 0);
    main.querySelector("h1").focus({ preventScroll: true });
  }
  first = false;
}

function signOut() {
  storeKey(null);
  signIn("");
}

/** Store and show the name of the key, then show the view. */
function enter(answer) {
  me = answer;
  const out = h("button", { type: "button", class: "link", onclick: signOut }, "Sign out");
  who.replaceChildren(...(me.insecure ? ["no keys needed"] : [h("span", { class: "name" }, me.name), out]));
  route();
}

/** Show the form for an API key. */
function signIn(reason) {
  leave();
  [me, leave] = [null, () => {}];
  onStatus("none");
  who.replaceChildren();
  const input = h("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "key-error" });
  const error = h("p", { id: "key-error", class: "error", role: "alert" }, reason);
  const button = h("button", { class: "primary" }, "Sign in");
  const submit = async (event) => {
    event.preventDefault();
    const key = input.value.trim();
    button.disabled = true;
    try {
      // Headers cannot contain other characters, so keys do not either.
      if (!/^[\x21-\x7e]+$/.test(key)) throw new Refused(401, "");
      const answer = await json("/v1/me", { key });
      storeKey(key);
      enter(answer);
    } catch (problem) {
      const unknown = problem instanceof Refused && problem.status === 401;
      const unreachable = problem instanceof TypeError ? "The service cannot be reached. Try again." : problem.message;
      say(error, unknown ? "The service does not accept this key. Check it and try again." : unreachable);
      button.disabled = false;
      input.select();
      input.focus();
    }
  };
  const form = h(
    "form",
    { class: "panel sign-in", onsubmit: submit },
    h("h1", { tabindex: "-1" }, "Sign in"),
    h("label", { for: "key" }, "API key"),
    input,
    error,
    button,
    h("p", { class: "soft" }, "The key needs the role read; pausing and resuming need the role admin. It is kept until you close this tab."),
  );
  main.replaceChildren(form);
  document.title = "Sign in · clusterbandits";
  input.focus();
}

async function start() {
  onStatus("connecting");
  for (let wait = 500; ; wait = Math.min(2 * wait, 15_000)) {
    try {
      enter(await json("/v1/me"));
      return;
    } catch (problem) {
      if (problem instanceof Refused && problem.status === 401) {
        signIn(storedKey() === null ? "" : "Your key is no longer accepted. Sign in again.");
        return;
      }
      if (problem instanceof Refused && problem.status < 500 && problem.status !== 429) {
        showProblem("Not allowed", problem.message);
        return;
      }
      onStatus("lost");
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

document.getElementById("skip").addEventListener("click", (event) => {
  // The part of an address behind # names the view, so the link must not change it.
  event.preventDefault();
  main.focus();
});
window.addEventListener("hashchange", route);
start();
