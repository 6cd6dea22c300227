/** The page of a model of ratings, or of interactions: search, rate, and see the recommendations move. */

import { telling } from "./asking.js";
import { Cards } from "./cards.js";
import { Choices } from "./choices.js";
import { arrange, part, say } from "./dom.js";
import { Scale, control, shown, valued } from "./stars.js";

const RECOMMENDED = 10;
const ALIKE = 5;
const OF_RATINGS = {
  heading: "Rate a few, and see what follows",
  lead: "Recommendations follow each rating at once. The address of this page keeps your ratings, the server does not.",
  find: "Rate",
  search: "Search by title",
  first: "Those with most ratings:",
  own: "Your ratings",
  results: "Recommended for you",
  empty: "Rate one or two on this page, and ten recommendations appear here.",
  jump: "See recommendations",
};
const OF_INTERACTIONS = {
  ...OF_RATINGS,
  heading: "Mark a few, and see what follows",
  lead: "Recommendations follow each mark at once. The address of this page keeps your marks, the server does not.",
  find: "Mark what you know",
  first: "Those that most users know:",
  own: "What you know",
  empty: "Mark one or two on this page, and ten recommendations appear here.",
};

export class RatingsPage extends Choices {
  constructor(main, model) {
    super(main, model, "ratings", model.levels ? OF_RATINGS : OF_INTERACTIONS);
    this.scale = new Scale(model.levels, model.meanings);
    this.titles = new Map();
    this.cards = new Cards(this.part("results"), this);
    const pressed = ({ target }) => {
      const button = target.closest("[data-part=similar]");
      if (button) telling(() => this.alike(button));
    };
    this.part("results").addEventListener("click", pressed, { signal: this.ending.signal });
  }

  get sizes() {
    const number = (n) => n.toLocaleString("en");
    return `${number(this.model.users)} users, ${number(this.model.items)} items`;
  }

  // -------------------------------------------------------------- items

  title(item) {
    return this.titles.get(item) ?? (/^\d+$/.test(item) ? `Item ${item}` : item);
  }

  control(item) {
    return control(this.title(item), this.scale);
  }

  valued(group) {
    return valued(group, this.scale);
  }

  shown(group, rating) {
    shown(group, rating);
  }

  async find(search, n) {
    return this.learn((await this.ask("/v1/items", { query: [["search", search], ["n", n]] })).items);
  }

  /** Return those of some ratings, given as texts, that the model knows. */
  async known(given) {
    const unknown = Array.from(given.keys()).filter((item) => !this.titles.has(item));
    if (unknown.length) this.learn((await this.ask("/v1/items", { query: unknown.map((item) => ["ids", item]) })).items);
    const read = ([item, text]) => [item, this.scale.isRated ? this.scale.level(text) : null];
    return new Map(Array.from(given, read).filter(([item, rating]) => rating !== undefined && this.titles.has(item)));
  }

  /** Note the titles of items, and return the texts of their ids. */
  learn(items) {
    for (const one of items) this.titles.set(String(one.item), one.title ?? this.titles.get(String(one.item)));
    return items.map((one) => String(one.item));
  }

  /** Show what is similar to an item, or hide that. */
  async alike(button) {
    const card = button.closest("li");
    const list = part(card, "alike");
    const isWanted = button.ariaExpanded === "false";
    button.ariaExpanded = String(isWanted);
    list.hidden = !isWanted;
    if (!isWanted || list.childElementCount) return;
    const path = `/v1/items/${encodeURIComponent(card.dataset.key)}/similar`;
    const { similar } = await this.ask(path, { query: [["n", ALIKE]] });
    arrange(list, this.learn(similar), (item) => this.row(item));
  }

  // -------------------------------------------------------------- recommendations

  /** Ask for recommendations, and then for what there is to say of them. */
  async follow(signal) {
    const ratings = Array.from(this.chosen, ([item, rating]) => (rating === null ? { item } : { item, rating }));
    this.part("empty").hidden = ratings.length > 0;
    this.part("jump").hidden = !ratings.length;
    if (!ratings.length) {
      this.cards.show([]);
      return;
    }
    const user = { ratings };
    const body = { users: [user], n: RECOMMENDED };
    const { items } = (await this.ask("/v1/recommendations", { body, signal })).lists[0];
    const names = this.learn(items).map((item) => this.title(item));
    const held = this.part("results").contains(document.activeElement) && document.activeElement.closest("[data-key-of]");
    this.cards.show(items);
    if (held && !held.isConnected) this.refocus(held.dataset.keyOf);
    say(`Recommended: ${names.slice(0, 3).join("; ")}${names.length > 3 ? "; and more" : ""}.`);
    const ids = items.map(({ item }) => item);
    if (ids.length) await Promise.all([this.predict(user, ids, signal), this.explain(user, ids, signal)]);
  }

  async predict(user, items, signal) {
    if (!this.model.probabilities) return;
    const body = { pairs: items.map((item) => ({ user, item })) };
    this.cards.predict(await this.ask("/v1/predictions", { body, signal }));
  }

  async explain(user, items, signal) {
    if (!this.model.offers.includes("explanations")) return;
    this.cards.explain(await this.ask("/v1/explanations", { body: { user, items }, signal }));
  }
}
