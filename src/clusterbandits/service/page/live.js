// Server-sent events read through fetch, because EventSource cannot send a key.

import { json, Refused, request } from "/page/api.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
// The service sends a ping every 15 seconds.
const SILENCE = 40_000;
// A hidden page closes its connection after this time, because all tabs share six connections per server.
const UNSEEN = 10_000;
// The statuses after which a retry cannot succeed.
const FINAL = new Set([401, 403, 404]);

/** Return a function that receives parts of an event stream and calls `onEvent(name, data)` per complete event. */
export function eventParser(onEvent) {
  let rest = "";
  let name = "message";
  let data = [];
  const takeLine = (line) => {
    if (line === "") {
      if (data.length) onEvent(name, data.join("\n"));
      name = "message";
      data = [];
    } else if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  };
  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    for (const line of lines) takeLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  };
}

/** Read a stream to its end; stop after a long time without data. */
async function readEvents(response, control, onEvent) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parse = eventParser(onEvent);
  for (;;) {
    const timer = setTimeout(() => control.abort(), SILENCE);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    parse(value);
  }
}

/** Connect once: report the present JSON, unless an event came first, and all events. Return at the stream's end. */
async function connect(path, livePath, control, onState, onLive) {
  const { signal } = control;
  const response = await request(livePath, { signal });
  let heard = false;
  const load = async () => {
    const state = await json(path, { signal });
    if (!heard) onState(state);
    onLive();
  };
  const onEvent = (name, data) => {
    if (name !== "state" || signal.aborted) return;
    heard = true;
    onState(JSON.parse(data));
  };
  await Promise.all([readEvents(response, control, onEvent), load()]);
}

/** Wait; stop early when the network is back or the view ends. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    window.addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}

/** Call `stop` when the page has been hidden for a while, until the returned function is called. */
function whenUnseen(stop) {
  let timer;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(stop, UNSEEN);
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/** Wait until the page is visible. */
function seen(signal) {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
    look();
  });
}

/**
 * Follow `path` until the returned function is called: its JSON now, then the state in each event of `livePath`.
 * `onStatus` receives "connecting", "live" or "lost"; `onRefused` receives errors after which a retry cannot succeed.
 */
export function follow(path, livePath, { onState, onStatus, onRefused }) {
  const ended = new AbortController();
  const run = async () => {
    let wait = FIRST_WAIT;
    onStatus("connecting");
    while (!ended.signal.aborted) {
      const control = new AbortController();
      const stop = () => control.abort();
      let resting = false;
      const forget = whenUnseen(() => {
        resting = true;
        stop();
      });
      ended.signal.addEventListener("abort", stop);
      try {
        await connect(path, livePath, control, onState, () => {
          wait = FIRST_WAIT;
          onStatus("live");
        });
      } catch (problem) {
        if (!ended.signal.aborted && problem instanceof Refused && FINAL.has(problem.status)) {
          onRefused(problem);
          return;
        }
        if (!(problem instanceof Refused || problem instanceof TypeError || problem.name === "AbortError")) {
          console.error(problem);
        }
      } finally {
        forget();
        ended.signal.removeEventListener("abort", stop);
        control.abort();
      }
      if (resting) {
        onStatus("connecting");
        await seen(ended.signal);
        continue;
      }
      if (ended.signal.aborted) return;
      onStatus("lost");
      await pause(wait * (0.75 + 0.5 * Math.random()), ended.signal);
      wait = Math.min(2 * wait, LONGEST_WAIT);
    }
  };
  run();
  return () => ended.abort();
}
