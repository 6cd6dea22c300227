/**
 * What the address of the page keeps, in its fragment, which browsers send to no server:
 * `#model=films&ratings=50:5,181:4&search=alien`. Each change is a step back and forward.
 */

/** Return what the address says, as texts by name. */
export function read() {
  const found = {};
  for (const pair of location.hash.slice(1).split("&")) {
    const at = pair.indexOf("=");
    if (at > 0) found[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return found;
}

/** Make the address say something else of one name: as a new step, or in place of the present one. */
export function change(name, text, { step }) {
  const all = { ...read(), [name]: text };
  const hash = Object.entries(all).filter(([, value]) => value).map((pair) => pair.join("=")).join("&");
  const address = `${location.pathname}${location.search}${hash && "#"}${hash}`;
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

/** Return a text as it was before `encodeURIComponent`, or nothing where it never was. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** Return a map from keys to values as `key:value,key`; without a value the key alone. */
export function fromMap(map) {
  const write = ([key, value]) => encodeURIComponent(key) + (value === null ? "" : `:${encodeURIComponent(value)}`);
  return Array.from(map, write).join(",");
}

/** Return what `fromMap` made a text of; values are texts, null where there is none. */
export function toMap(text) {
  const pairs = (text ?? "").split(",").map((one) => one.split(":"));
  const decode = ([key, value]) => [decoded(key), value === undefined ? null : decoded(value)];
  return new Map(pairs.map(decode).filter(([key]) => key));
}
