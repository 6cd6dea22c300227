/** What pages of all models share: search things, give each a value, take it away again, and see what follows. */

import { ask, telling } from "./asking.js";
import { arrange, calmly, copy, element, part, say } from "./dom.js";
import { change, decoded, fromMap, read, toMap } from "./state.js";

const FEW = 6; // things that a search shows at first
const MORE = 12;
const CALM = 150; // milliseconds without a keystroke or a choice, after which the server is asked
const QUICK = 1500; // milliseconds within which another value of the same thing is no step of its own: arrow keys

/**
 * The choices of a person, from keys to values, oldest first. Subclasses say in what words, where choices stand in the
 * address (`kept`), what things there are (`find`, `known`), how one is chosen (`control`, `valued`, `shown`), and what
 * follows (`follow`).
 */
export class Choices {
  constructor(main, model, kept, words) {
    Object.assign(this, { model, kept, words, chosen: new Map(), n: FEW, last: { key: null, at: -Infinity } });
    this.ending = new AbortController();
    this.root = element("div");
    this.root.append(copy("page"));
    for (const one of this.root.querySelectorAll("[data-word]")) one.textContent = words[one.dataset.word];
    main.replaceChildren(this.root);
    this.search = this.root.querySelector("#search");
    this.search.placeholder = words.search;
    this.listen();
  }

  part(name) {
    return part(this.root, name);
  }

  /** Ask the model. */
  ask(path, { query = [], body, signal = this.ending.signal } = {}) {
    const own = { model: this.model.name };
    return ask(path, body ? { body: { ...own, ...body }, signal } : { query: [...Object.entries(own), ...query], signal });
  }

  end() {
    this.ending.abort();
    this.asking?.abort();
  }

  listen() {
    const { signal } = this.ending;
    const on = (target, event, call) => target.addEventListener(event, call, { signal });
    const find = calmly(CALM, () => telling(() => this.list()));
    this.followSoon = calmly(CALM, () => telling(() => this.followNow()));
    on(this.search, "input", () => {
      this.n = FEW;
      change("search", encodeURIComponent(this.search.value.trim()), { step: false });
      find();
    });
    on(this.part("more"), "click", () => {
      this.n += MORE;
      telling(() => this.list());
    });
    on(this.root, "input", ({ target }) => {
      const control = target.closest("[data-key-of]");
      if (control) this.choose(control.dataset.keyOf, this.valued(control));
    });
    on(this.part("chosen"), "click", ({ target }) => {
      const button = target.closest("[data-part=remove]");
      if (button) this.remove([button.closest("li").dataset.key]);
    });
    on(this.part("clear"), "click", () => this.remove([...this.chosen.keys()]));
    on(this.part("undo"), "click", () => this.undo());
    on(this.part("jump-link"), "click", (event) => {
      event.preventDefault(); // the fragment of the address is taken
      this.part("target").scrollIntoView();
      this.part("target").focus({ preventScroll: true });
    });
    const watching = new IntersectionObserver(([{ isIntersecting }]) => {
      this.part("jump").classList.toggle("there", isIntersecting);
    });
    watching.observe(this.part("results"));
    signal.addEventListener("abort", () => watching.disconnect());
  }

  // -------------------------------------------------------------- what the address keeps

  /** Show what the address says. */
  async restore() {
    const state = read();
    this.search.value = decoded(state.search ?? "");
    this.chosen = await this.known(toMap(state[this.kept]));
    this.part("undone").hidden = true;
    this.update();
    await this.list();
  }

  keep(step) {
    change(this.kept, fromMap(this.chosen), { step });
    this.update();
  }

  // -------------------------------------------------------------- choices

  choose(key, value) {
    if (value === undefined) {
      this.remove([key]);
      return;
    }
    const again = this.chosen.has(key) && this.last.key === key && performance.now() - this.last.at < QUICK;
    this.last = { key, at: performance.now() };
    this.chosen.set(key, value);
    this.part("undone").hidden = true;
    this.keep(!again);
  }

  remove(keys) {
    this.removed = new Map(this.chosen);
    const within = this.part("own").contains(document.activeElement);
    for (const key of keys) this.chosen.delete(key);
    const said = `Removed ${keys.length === 1 ? this.title(keys[0]) : `all ${keys.length}`}.`;
    this.part("undone").hidden = false;
    this.part("removed").textContent = said;
    say(said);
    this.last.key = null;
    this.keep(true);
    if (within) this.part("undo").focus();
  }

  undo() {
    this.chosen = this.removed;
    this.part("undone").hidden = true;
    this.part("own").querySelector("h2").focus();
    this.keep(true);
  }

  /** Show the choices everywhere, and ask what follows from them. */
  update() {
    const keys = Array.from(this.chosen.keys()).reverse();
    arrange(this.part("chosen"), keys, (key) => this.row(key, true));
    for (const control of this.root.querySelectorAll("[data-key-of]")) {
      this.shown(control, this.chosen.get(control.dataset.keyOf));
    }
    this.part("none").hidden = keys.length > 0;
    this.part("clear").hidden = keys.length < 2;
    this.followSoon();
  }

  async followNow() {
    this.asking?.abort(); // the latest answer wins
    this.asking = new AbortController();
    await this.follow(this.asking.signal);
  }

  // -------------------------------------------------------------- things to choose

  title(key) {
    return key;
  }

  /** Return the row of a thing: its title, its control, and among the choices a button that takes it away. */
  row(key, removable = false) {
    const row = copy("row");
    part(row, "title").textContent = this.title(key);
    part(row, "title").after(this.bound(key));
    if (removable) part(row, "remove").setAttribute("aria-label", `Remove ${this.title(key)}`);
    else part(row, "remove").remove();
    return row;
  }

  /** Return a control of a thing, which shows what is chosen. */
  bound(key) {
    const control = this.control(key);
    control.dataset.keyOf = key;
    this.shown(control, this.chosen.get(key));
    return control;
  }

  /** Show the things that are searched. */
  async list() {
    const search = this.search.value.trim();
    const { n } = this;
    const found = await this.find(search, n + 1);
    if (search !== this.search.value.trim() || n !== this.n) return; // more was wanted meanwhile
    const isAll = found.length <= n;
    arrange(this.part("found"), found.slice(0, n), (key) => this.row(key));
    this.part("more").hidden = isAll;
    const said = isAll ? `${found.length || "Nothing"} found` : `The first ${n} found`;
    this.part("said").textContent = search ? said : this.words.first;
  }

  /** Put the focus on the choice of a thing whose other control is there no more. */
  refocus(key) {
    const row = Array.from(this.part("chosen").children).find((one) => one.dataset.key === key);
    row?.querySelector(":checked, select, input")?.focus({ preventScroll: true });
  }
}
