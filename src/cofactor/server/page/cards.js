/** Cards of recommended items: what is expected of each, how likely each level is, and why. */

import { arrange, copy, element, part, percent, write } from "./dom.js";

const REASONS = 3; // items that are named as reasons
const ALL_NAMED = 5; // levels whose bars all have names; of more, such as half stars, whole ones do
const MOST_NAMED = 11;

export class Cards {
  /** `page` knows the titles of items, their controls, and what the model offers. */
  constructor(list, page) {
    Object.assign(this, { list, page, scale: page.scale });
  }

  /** Show items in their order, without what is not known of them yet. */
  show(items) {
    arrange(this.list, items.map((one) => String(one.item)), (key) => this.made(key));
    items.forEach((one, k) => this.rank(this.list.children[k], one));
  }

  /** Show what is predicted of the items. */
  predict({ levels, predictions }) {
    const largest = Math.max(...predictions.flatMap((one) => one.probabilities ?? [0]));
    for (const one of predictions) {
      const card = this.card(one.item);
      if (!card || !one.probabilities) continue;
      this.value(card, one.score.toFixed(1), "expected");
      this.bars(part(card, "levels"), levels, one, largest);
    }
  }

  /** Show which own items speak for the items. */
  explain({ explanations }) {
    for (const one of explanations) {
      const card = this.card(one.item);
      if (card) write(part(card, "because"), this.because(one.reasons));
    }
  }

  card(item) {
    return Array.from(this.list.children).find((one) => one.dataset.key === String(item));
  }

  made(item) {
    const card = copy("card");
    const title = this.page.title(item);
    part(card, "title").textContent = title;
    part(card, "acts").prepend(this.page.bound(item));
    part(card, "similar").hidden = !this.page.model.offers.includes("similar");
    part(card, "similar").append("Similar", element("span", { of: "unseen", text: ` to ${title}` }));
    return card;
  }

  rank(card, one) {
    if (!this.page.model.probabilities && one.prediction !== undefined) {
      this.value(card, one.meaning ?? String(one.prediction), "predicted");
    }
    const chances = [];
    if (one.p_interact !== undefined) chances.push(`${percent(one.p_interact)} interact with it next`);
    if (one.p_like !== undefined) chances.push(`${percent(one.p_like)} like it`);
    write(part(card, "chances"), chances.join(" · "));
  }

  value(card, text, how) {
    part(card, "score").hidden = false;
    part(card, "value").textContent = text;
    part(card, "unit").textContent = this.scale.meanings.length ? how : `of ${this.scale.levels.at(-1)} ${how}`;
  }

  bars(target, levels, one, largest) {
    if (target.childElementCount !== levels.length) target.replaceChildren(...levels.map((level) => this.bar(level, levels)));
    levels.forEach((level, k) => {
      const bar = target.children[k];
      bar.style.setProperty("--share", one.probabilities[k] / largest);
      bar.classList.toggle("most", level === one.prediction);
    });
    const words = levels.map((level, k) => `${this.scale.name(level)}: ${percent(one.probabilities[k])}`);
    target.setAttribute("aria-label", `Probabilities of ratings. ${words.join(", ")}`);
    target.title = words.join("\n");
    target.hidden = false;
  }

  bar(level, levels) {
    const bar = element("span", { of: "bar" });
    const isNamed = levels.length <= ALL_NAMED || (levels.length <= MOST_NAMED && Number.isInteger(level));
    if (isNamed) bar.append(element("span", { of: "level", text: String(level) }));
    return bar;
  }

  because(reasons) {
    const { levels, isRated } = this.scale;
    const good = levels[Math.floor((3 * levels.length) / 4)]; // as recommenders have it
    const liked = reasons.filter((one) => one.contribution > 0 && (!isRated || one.rating >= good));
    if (!liked.length) return "";
    const titles = liked.slice(0, REASONS).map((one) => this.page.title(String(one.item)));
    return `Because you ${isRated ? "liked" : "know"} ${new Intl.ListFormat("en").format(titles)}`;
  }
}
