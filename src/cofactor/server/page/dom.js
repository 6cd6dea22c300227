/** Pieces of the page: templates in page.html, filled in by text alone. */

/** Return a copy of a template's content; of its one element where it has one. */
export function copy(id) {
  const content = document.getElementById(id).content.cloneNode(true);
  return content.childElementCount === 1 ? content.firstElementChild : content;
}

/** Return the element that a template calls so. */
export function part(root, name) {
  return root.querySelector(`[data-part="${name}"]`);
}

/** Return an element with a class and a text. */
export function element(tag, { of = "", text = "" } = {}) {
  const made = document.createElement(tag);
  if (of) made.className = of;
  if (text) made.textContent = text;
  return made;
}

/** Write a text into an element, and hide it where there is none. */
export function write(target, text) {
  target.hidden = !text;
  if (target.textContent !== text) target.textContent = text;
}

/** Return a share as people read it. */
export function percent(share) {
  return `${share < 0.0995 ? (100 * share).toFixed(1) : Math.round(100 * share)}\u00a0%`;
}

/** Tell a screen reader what has changed. */
export function say(text) {
  part(document, "status").textContent = text;
}

/**
 * Make a list show these keys, in this order: elements of keys that stay are kept, with the focus that is in one of
 * them, and glide to their new places.
 */
export function arrange(list, keys, make) {
  const old = new Map(Array.from(list.children, (one) => [one.dataset.key, one]));
  const places = new Map(Array.from(old, ([key, one]) => [key, one.getBoundingClientRect().top]));
  const focus = list.contains(document.activeElement) ? document.activeElement : null;
  for (const [key, one] of old) if (!keys.includes(key)) one.remove();
  keys.forEach((key, k) => {
    let one = old.get(key);
    if (!one) {
      one = make(key);
      one.dataset.key = key;
    }
    if (list.children[k] !== one) list.insertBefore(one, list.children[k] ?? null);
  });
  if (focus?.isConnected && focus !== document.activeElement) focus.focus({ preventScroll: true });
  glide(list, places);
}

/** Move the elements of a list from where they were to where they are, for eyes that like motion. */
function glide(list, places) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const one of list.children) {
    const before = places.get(one.dataset.key);
    if (before === undefined) {
      one.animate({ opacity: [0, 1] }, { duration: 200, easing: "ease-out" });
      continue;
    }
    const by = before - one.getBoundingClientRect().top;
    if (by) one.animate({ transform: [`translateY(${by}px)`, "none"] }, { duration: 250, easing: "ease-out" });
  }
}

/** Return a function that calls another one when it was not called again for some milliseconds. */
export function calmly(milliseconds, call) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
}
