/** The page of a model of labels: give a text or a row, and see its labels and what speaks for them. */

import { Choices } from "./choices.js";
import { arrange, copy, element, part, percent, say } from "./dom.js";
import { change, decoded, read } from "./state.js";

const BEST = 10; // labels that are shown
const EXPLAINED = 5; // those whose reasons are shown, of them
const REASONS = 5;
const SHARE = 0.9; // of a precision or a recall that is chosen
const NONE_SURE = "No label is predicted: none of this row is so likely that nine in ten such are right.";
const LONGEST = 20000; // letters of a text that the address keeps
const OF_ROWS = {
  heading: "Fill in a row, and see its labels",
  lead: "Labels follow each value at once. The address of this page keeps what you type, the server does not.",
  find: "Features",
  search: "Search by name",
  first: "The first of all:",
  own: "Your row",
  results: "Labels",
  empty: "Give a value or two on this page, and the most likely labels appear here.",
  jump: "See labels",
};
const OF_TEXTS = {
  ...OF_ROWS,
  heading: "Paste a text, and see its labels",
  lead: "Labels follow as you type. The address of this page keeps the text, the server does not.",
  empty: "Paste or type a text on this page, and the most likely labels appear here.",
};

export class LabelsPage extends Choices {
  constructor(main, model) {
    const isOnlyText = model.rows.length === 1 || model.row_names?.length === 1; // or a table with no other column
    super(main, model, "row", model.rows.includes("text") && isOnlyText ? OF_TEXTS : OF_ROWS);
    this.features = new Map(); // from names to what is said of them
    this.isText = this.words === OF_TEXTS;
    this.text = this.root.querySelector("#text");
    for (const name of ["find", "own"]) this.part(name).hidden = this.isText;
    this.part("text").hidden = !this.isText;
    const typed = () => {
      change("text", encodeURIComponent(this.text.value.slice(0, LONGEST)), { step: false });
      this.followSoon();
    };
    this.text.addEventListener("input", typed, { signal: this.ending.signal });
    this.decision = this.root.querySelector("#decision");
    const decided = () => {
      change("decide", this.decision.value, { step: false });
      this.followSoon();
    };
    this.decision.addEventListener("change", decided, { signal: this.ending.signal });
  }

  get sizes() {
    const number = (n) => n.toLocaleString("en");
    return `${number(this.model.features)} features, ${number(this.model.labels)} labels`;
  }

  async restore() {
    this.text.value = decoded(read().text ?? "");
    const { decide = "" } = read();
    this.decision.value = Array.from(this.decision.options).some((one) => one.value === decide) ? decide : "";
    await super.restore();
  }

  // -------------------------------------------------------------- features

  control(name) {
    const { kind, words } = this.features.get(name);
    const control = element({ words: "select", text: "textarea" }[kind] ?? "input");
    if (kind === "words") control.append(new Option("–", ""), ...words.map((word) => new Option(word, word)));
    if (kind === "number") Object.assign(control, { type: "number", step: "any", inputMode: "decimal" });
    control.setAttribute("aria-label", name);
    return control;
  }

  valued(control) {
    return control.value;
  }

  shown(control, value = "") {
    if (control.value !== value) control.value = value;
  }

  async find(search, n) {
    if (this.isText) return [];
    return this.learn((await this.ask("/v1/features", { query: [["search", search], ["n", n]] })).features);
  }

  async known(given) {
    const unknown = Array.from(given.keys()).filter((name) => !this.features.has(name));
    const query = [...unknown.map((name) => ["names", name]), ["n", unknown.length]];
    if (unknown.length) this.learn((await this.ask("/v1/features", { query })).features);
    return new Map(Array.from(given).filter(([name]) => this.features.has(name)));
  }

  learn(features) {
    for (const one of features) this.features.set(one.name, one);
    return features.map((one) => one.name);
  }

  // -------------------------------------------------------------- labels

  /** Return what was given as the server takes it; nothing where nothing was. */
  given() {
    if (this.isText) return this.text.value.trim();
    const number = (name, value) => (this.features.get(name).kind === "number" ? Number(value) : value);
    const filled = Array.from(this.chosen).filter(([, value]) => value !== "");
    return filled.length ? Object.fromEntries(filled.map(([name, value]) => [name, number(name, value)])) : "";
  }

  async follow(signal) {
    const row = this.given();
    this.part("empty").hidden = row !== "";
    this.part("jump").hidden = row === "";
    this.part("decision").hidden = row === "" || !this.model.offers.includes("decisions");
    if (row === "") {
      this.part("no-label").hidden = true;
      this.part("results").replaceChildren();
      return;
    }
    const decision = this.decision.value ? { decision: { [this.decision.value]: SHARE } } : {};
    const body = { rows: [row], top: BEST, ...decision };
    const [{ labels, top }] = (await this.ask("/v1/tags", { body, signal })).tags;
    const list = this.part("results");
    arrange(list, top.map((one) => String(one.label)), () => copy("tag"));
    top.forEach((one, k) => this.tag(list.children[k], one, labels.includes(one.label)));
    const none = this.decision.value === "precision" ? NONE_SURE : "No label is predicted.";
    this.part("no-label").textContent = none;
    this.part("no-label").hidden = labels.length > 0;
    say(labels.length ? `Labels: ${labels.join("; ")}.` : none);
    if (this.model.offers.includes("explanations")) await this.explain(row, top.slice(0, EXPLAINED), signal);
  }

  tag(card, one, isPredicted) {
    part(card, "title").textContent = one.label;
    card.classList.toggle("most", isPredicted);
    const isSure = one.probability !== undefined;
    part(card, "value").textContent = isSure ? percent(one.probability) : one.score.toFixed(2);
    part(card, "unit").textContent = isPredicted ? "predicted" : isSure ? "" : "score";
    part(card, "share").parentElement.hidden = !isSure;
    part(card, "share").style.setProperty("--share", one.probability ?? 0);
    if (!isPredicted) part(card, "reasons").replaceChildren(); // until new ones come, old ones would be wrong
  }

  async explain(row, top, signal) {
    const body = { row, labels: top.map((one) => one.label), n: REASONS };
    const { explanations } = await this.ask("/v1/explanations", { body, signal });
    const list = this.part("results");
    explanations.forEach((one, k) => part(list.children[k], "reasons").replaceChildren(...one.reasons.map(reason)));
  }
}

/** Return what speaks for a label, or against it. */
function reason({ feature, instance, contribution }) {
  const isFor = contribution > 0;
  const one = element("li", { of: isFor ? "for" : "against", text: feature ?? `like instance ${instance}` });
  one.prepend(element("span", { of: "unseen", text: isFor ? "for it: " : "against it: " }));
  one.append(element("span", { of: "amount", text: `${isFor ? "+" : "−"}${Math.abs(contribution).toPrecision(2)}` }));
  return one;
}
