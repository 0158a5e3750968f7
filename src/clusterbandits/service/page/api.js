// Requests to the service with the API key.

const STORED = "clusterbandits key";

export function storedKey() {
  return sessionStorage.getItem(STORED);
}

export function storeKey(key) {
  if (key === null) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, key);
}

/** A request that the service answered with a status of 400 or more. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** Send a request and return the response; raise Refused with the service's own sentence if it is an error. */
export async function request(path, { method = "GET", body, signal, key = storedKey() } = {}) {
  const headers = {};
  if (key !== null) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(path, { method, headers, body: sent, signal, cache: "no-store" });
  if (response.ok) return response;
  let detail = `The service answered with status ${response.status}.`;
  try {
    const answer = await response.json();
    if (typeof answer.detail === "string") detail = answer.detail;
  } catch {
    // The body is not JSON: keep the message above.
  }
  throw new Refused(response.status, detail);
}

/** Send a request and return the JSON of its answer. */
export async function json(path, options) {
  return (await request(path, options)).json();
}

/** Return the address of an experiment, or of a part of it. */
export function experimentPath(name, part = "") {
  return `/v1/experiments/${encodeURIComponent(name)}${part}`;
}
