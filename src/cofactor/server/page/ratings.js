/** The page of a model of ratings, or of takes: search, rate, and see the recommendations move. */

import { ask, telling } from "./asking.js";
import { Cards } from "./cards.js";
import { arrange, calmly, copy, element, part, say } from "./dom.js";
import { Scale, chosen, control, show } from "./stars.js";
import { change, decoded, fromMap, read, toMap } from "./state.js";

const RECOMMENDED = 10;
const ALIKE = 5;
const FEW = 6; // items that a search shows at first
const MORE = 12;
const CALM = 150; // milliseconds without a keystroke or a rating, after which the server is asked
const QUICK = 1500; // milliseconds within which another rating of an item is no step of its own: arrow keys

export class RatingsPage {
  constructor(main, model) {
    this.model = model;
    this.scale = new Scale(model.levels, model.meanings);
    this.ratings = new Map(); // from the text of an id to a level, or to null where there are no levels; oldest first
    this.titles = new Map();
    this.n = FEW;
    this.last = { item: null, at: -Infinity };
    this.ending = new AbortController();
    this.root = element("div");
    this.root.append(copy("for-ratings"));
    main.replaceChildren(this.root);
    this.search = this.root.querySelector("#search");
    this.cards = new Cards(this.part("list"), this.scale, (item) => this.title(item), model.offers);
    this.word();
    this.listen();
  }

  part(name) {
    return part(this.root, name);
  }

  sizes() {
    const number = (n) => n.toLocaleString("en");
    return `${number(this.model.users)} users, ${number(this.model.items)} items`;
  }

  end() {
    this.ending.abort();
    this.asking?.abort();
    this.watching.disconnect();
  }

  /** Say "take" where there are no ratings. */
  word() {
    if (this.scale.isRated) return;
    this.root.querySelector("h1").textContent = "Mark a few, and see what follows";
    this.root.querySelector("#rate-heading").textContent = "Mark what is yours";
    this.root.querySelector("#rated-heading").textContent = "Yours";
  }

  listen() {
    const { signal } = this.ending;
    const on = (target, event, call) => target.addEventListener(event, call, { signal });
    const find = calmly(CALM, () => telling(() => this.find()));
    this.follow = calmly(CALM, () => telling(() => this.recommend()));
    on(this.search, "input", () => {
      this.n = FEW;
      change("search", encodeURIComponent(this.search.value.trim()), { step: false });
      find();
    });
    on(this.part("more"), "click", () => {
      this.n += MORE;
      telling(() => this.find());
    });
    on(this.root, "change", ({ target }) => {
      const group = target.closest("fieldset[data-item]");
      if (group) this.rate(group.dataset.item, chosen(group, this.scale));
    });
    on(this.part("rated"), "click", ({ target }) => {
      const button = target.closest("[data-part=remove]");
      if (button) this.remove([button.closest("li").dataset.key]);
    });
    on(this.part("clear"), "click", () => this.remove([...this.ratings.keys()]));
    on(this.part("undo"), "click", () => this.undo());
    // Elements that open and close say so to themselves alone, unless they are caught on the way down.
    this.root.addEventListener("toggle", ({ target }) => telling(() => this.alike(target)), { signal, capture: true });
    on(this.part("jump-link"), "click", (event) => {
      event.preventDefault(); // the fragment of the address is taken
      this.part("target").scrollIntoView();
      this.part("target").focus({ preventScroll: true });
    });
    this.watching = new IntersectionObserver(([{ isIntersecting }]) => {
      this.part("jump").classList.toggle("there", isIntersecting);
    });
    this.watching.observe(this.part("list"));
  }

  // -------------------------------------------------------------- what the address keeps

  /** Show what the address says. */
  async restore() {
    const state = read();
    this.search.value = decoded(state.search ?? "");
    const given = toMap(state.ratings);
    const unknown = Array.from(given.keys()).filter((item) => !this.titles.has(item));
    if (unknown.length) this.learn(await this.items(unknown.map((item) => ["ids", item])));
    this.ratings = new Map();
    for (const [item, text] of given) {
      const rating = this.scale.isRated ? this.scale.level(text) : null;
      if (rating !== undefined && this.titles.has(item)) this.ratings.set(item, rating);
    }
    this.part("undone").hidden = true;
    this.update();
    await this.find();
  }

  keep(step) {
    change("ratings", fromMap(this.ratings), { step });
    this.update();
  }

  // -------------------------------------------------------------- ratings

  rate(item, rating) {
    if (rating === undefined) {
      this.remove([item]);
      return;
    }
    const again = this.ratings.has(item) && this.last.item === item && performance.now() - this.last.at < QUICK;
    this.last = { item, at: performance.now() };
    this.ratings.set(item, rating);
    this.part("undone").hidden = true;
    this.keep(!again);
  }

  remove(items) {
    this.removed = new Map(this.ratings);
    const fromButton = this.part("rated").contains(document.activeElement) || document.activeElement === this.part("clear");
    for (const item of items) this.ratings.delete(item);
    const what = items.length === 1 ? this.title(items[0]) : `${items.length} ratings`;
    this.part("undone").hidden = false;
    this.part("removed").textContent = `Removed ${what}.`;
    this.last.item = null;
    this.keep(true);
    if (fromButton) this.part("undo").focus();
  }

  undo() {
    this.ratings = this.removed;
    this.part("undone").hidden = true;
    this.root.querySelector("#rated-heading").focus();
    this.keep(true);
  }

  /** Show the ratings everywhere, and ask what follows from them. */
  update() {
    const rated = Array.from(this.ratings.keys()).reverse();
    arrange(this.part("rated"), rated, (item) => this.row(item, true));
    for (const group of this.root.querySelectorAll("fieldset[data-item]")) {
      show(group, this.ratings.get(group.dataset.item));
    }
    this.part("none").hidden = rated.length > 0;
    this.part("clear").hidden = rated.length < 2;
    this.asking?.abort(); // what it would answer is old
    this.follow();
  }

  // -------------------------------------------------------------- items

  title(item) {
    return this.titles.get(item) ?? (/^\d+$/.test(item) ? `Item ${item}` : item);
  }

  learn(items) {
    for (const one of items) this.titles.set(String(one.item), one.title ?? this.titles.get(String(one.item)));
    return items.map((one) => String(one.item));
  }

  async items(query) {
    const { items } = await ask("/v1/items", { query: [["model", this.model.name], ...query], signal: this.ending.signal });
    return items;
  }

  row(item, removable = false) {
    const row = copy("item");
    const title = this.title(item);
    part(row, "title").textContent = title;
    const group = control(item, title, this.scale);
    show(group, this.ratings.get(item));
    part(row, "title").after(group);
    if (removable && this.scale.isRated) part(row, "remove").setAttribute("aria-label", `Remove the rating of ${title}`);
    else part(row, "remove").remove();
    return row;
  }

  async find() {
    const search = this.search.value.trim();
    const found = await this.items([["search", search], ["n", this.n + 1]]);
    if (search !== this.search.value.trim()) return; // more was typed meanwhile
    const keys = this.learn(found).slice(0, this.n);
    arrange(this.part("results"), keys, (item) => this.row(item));
    this.part("more").hidden = found.length <= this.n;
    const all = found.length <= this.n ? `${found.length} found` : `More than ${this.n} found, those with most ratings first`;
    this.part("found").textContent = search ? (found.length ? all : "Nothing found. Try fewer letters.") : "Those with most ratings:";
  }

  async alike(details) {
    if (!details.open || part(details, "alike").childElementCount) return;
    const item = details.closest("li").dataset.key;
    const query = { model: this.model.name, n: ALIKE };
    const { similar } = await ask(`/v1/items/${encodeURIComponent(item)}/similar`, { query, signal: this.ending.signal });
    arrange(part(details, "alike"), this.learn(similar), (one) => this.row(one));
  }

  // -------------------------------------------------------------- recommendations

  /** Ask for recommendations, and then for what there is to say of them. */
  async recommend() {
    this.asking = new AbortController();
    const { signal } = this.asking;
    const given = Array.from(this.ratings, ([item, rating]) => (rating === null ? { item } : { item, rating }));
    this.part("empty").hidden = given.length > 0;
    if (!given.length) {
      this.cards.show([]);
      this.part("jump").hidden = true;
      return;
    }
    const user = { ratings: given };
    const own = { model: this.model.name };
    const body = { ...own, users: [user], n: RECOMMENDED };
    const { items } = (await ask("/v1/recommendations", { body, signal })).lists[0];
    const held = this.part("list").contains(document.activeElement) && document.activeElement.closest("[data-item]");
    this.learn(items);
    this.cards.show(items);
    if (held && !held.isConnected) this.refocus(held.dataset.item);
    this.part("jump").hidden = false;
    const first = items.slice(0, 3).map((one) => this.title(String(one.item)));
    say(`Recommended: ${first.join("; ")}${items.length > 3 ? "; and more" : ""}.`);
    await Promise.all([this.predict(user, items, signal), this.explain(user, items, signal)]);
  }

  /** Put the focus on the own rating of an item that was rated among recommendations, and is none any more. */
  refocus(item) {
    const row = Array.from(this.part("rated").children).find((one) => one.dataset.key === item);
    row?.querySelector(":checked, select, input")?.focus({ preventScroll: true });
  }

  async predict(user, items, signal) {
    if (!this.model.offers.includes("probabilities")) return;
    const body = { model: this.model.name, pairs: items.map(({ item }) => ({ user, item })) };
    this.cards.predict(await ask("/v1/predictions", { body, signal }));
  }

  async explain(user, items, signal) {
    if (!this.model.offers.includes("explanations")) return;
    const body = { model: this.model.name, user, items: items.map(({ item }) => item) };
    this.cards.explain(await ask("/v1/explanations", { body, signal }));
  }
}
