/** Questions to the server. One that stops meanwhile is asked again until it answers. */

import { part } from "./dom.js";

const SHORTEST = 500; // milliseconds to the second try
const LONGEST = 5000;
const KEY = "cofactor key";
const SENDABLE = /^[!-~]+$/; // what keys are made of

const trouble = part(document, "trouble");
const locked = part(document, "locked");

/** What the server answered where it refused a request. */
export class Refused extends Error {
  constructor(path, status, error) {
    super(error?.message ?? `the server answered with status ${status}`);
    this.path = path;
  }
}

/**
 * Return the answer to a request. While the server does not answer, or has no time, the page says so and asks again;
 * `signal` ends that.
 */
export async function ask(path, { query, body, signal } = {}) {
  const address = query ? `${path}?${new URLSearchParams(query)}` : path;
  for (let wait = SHORTEST; ; wait = Math.min(2 * wait, LONGEST)) {
    const response = await attempt(address, body, signal);
    signal?.throwIfAborted();
    if (response?.status === 401) {
      await unlocked(sessionStorage.getItem(KEY) !== null);
      continue;
    }
    if (response && response.status !== 503) {
      if ([path, ""].includes(trouble.dataset.of)) trouble.hidden = true;
      return content(path, response);
    }
    tell(response ? "The server is busy. Trying again …" : "The server does not answer. Trying again …");
    await pause(wait, signal);
  }
}

/** Return a response, or nothing where none came. */
async function attempt(address, body, signal) {
  const headers = {};
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body) headers["Content-Type"] = "application/json";
  const given = { method: body ? "POST" : "GET", body: body && JSON.stringify(body), headers, signal };
  return fetch(address, given).catch(() => null);
}

async function content(path, response) {
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Refused(path, response.status, answer?.error);
  return answer;
}

/** Do something, and say so where the server refuses it. */
export async function telling(work) {
  try {
    await work();
  } catch (error) {
    if (error.name === "AbortError") return; // what was asked for is wanted no more
    if (!(error instanceof Refused)) throw error;
    tell(`The server says: ${error.message}.`, error.path);
  }
}

/** Say what is wrong: with one path, until that is answered, or with all, which are tried again. */
function tell(message, path = "") {
  trouble.dataset.of = path;
  part(trouble, "again").hidden = path !== "";
  const text = part(trouble, "message");
  if (text.textContent !== message) text.textContent = message;
  trouble.hidden = false;
}

/** Wait some milliseconds, or until the button is pressed. */
function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      for (const [target, event] of ends) target?.removeEventListener(event, done);
      resolve();
    };
    const ends = [[part(trouble, "again"), "click"], [window, "online"], [signal, "abort"]];
    const timer = setTimeout(done, milliseconds);
    for (const [target, event] of ends) target?.addEventListener(event, done);
  });
}

/** Wait until a person has typed a key. It is kept as long as the tab is open. */
function unlocked(wasWrong) {
  locked.hidden = false;
  label(wasWrong);
  return new Promise((resolve) => {
    const use = (event) => {
      event.preventDefault();
      const key = document.getElementById("key").value.trim();
      label(!SENDABLE.test(key));
      if (!SENDABLE.test(key)) return; // no header could hold it
      locked.removeEventListener("submit", use);
      sessionStorage.setItem(KEY, key);
      locked.hidden = true;
      resolve();
    };
    locked.addEventListener("submit", use);
  });
}

function label(wasWrong) {
  locked.querySelector("label").textContent = wasWrong ? "This key is not known" : "This server asks for a key";
}
