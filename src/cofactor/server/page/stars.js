/** A control by which a person rates an item: stars, a list of levels where there are many, or a mark where none. */

import { element } from "./dom.js";

const MOST_STARS = 10;
let made = 0; // radio buttons of one group share a name

/** The ratings of a model: levels from low to high, and what they mean. None where there are only interactions. */
export class Scale {
  constructor(levels, meanings) {
    this.levels = levels ?? [];
    this.meanings = meanings ?? [];
  }

  get isRated() {
    return this.levels.length > 0;
  }

  get hasStars() {
    return this.isRated && this.levels.length <= MOST_STARS;
  }

  /** Return the level that a text reads as; undefined where none does. */
  level(text) {
    return this.levels.find((level) => String(level) === text);
  }

  /** Return what a level is called. */
  name(level) {
    const meaning = this.meanings[this.levels.indexOf(level)];
    return meaning && meaning !== String(level) ? meaning : String(level);
  }

  get ends() {
    return `${this.name(this.levels[0])} to ${this.name(this.levels.at(-1))}`;
  }
}

/** Return a control for the rating of an item; `valued` reads what is chosen, and `shown` shows it. */
export function control(title, scale) {
  const group = element("fieldset", { of: scale.hasStars ? "stars" : "choose" });
  const legend = scale.isRated ? `Your rating of ${title}, ${scale.ends}` : title;
  group.append(element("legend", { of: "unseen", text: legend }));
  if (scale.hasStars) group.append(...stars(scale));
  else group.append(scale.isRated ? menu(scale, legend) : mark(title));
  return group;
}

function stars(scale) {
  made += 1;
  return scale.levels.map((level) => {
    const radio = element("input");
    Object.assign(radio, { type: "radio", name: `rating ${made}`, value: level });
    const label = element("label");
    label.title = scale.name(level);
    label.append(radio, element("span", { of: "unseen", text: scale.name(level) }));
    return label;
  });
}

function menu(scale, name) {
  const select = element("select");
  select.setAttribute("aria-label", name);
  select.append(new Option("not rated", ""));
  for (const level of scale.levels) select.append(new Option(scale.name(level), level));
  return select;
}

function mark(title) {
  const label = element("label", { of: "mark" });
  const box = element("input");
  box.type = "checkbox";
  box.setAttribute("aria-label", `I know ${title}`);
  label.append(box, element("span", { text: "Known" }));
  return label;
}

/** Return what is chosen in a control: a level, null where an item is marked, undefined where there is no rating. */
export function valued(group, scale) {
  const box = group.querySelector("[type=checkbox]");
  if (box) return box.checked ? null : undefined;
  return scale.level((group.querySelector("select") ?? group.querySelector(":checked"))?.value ?? "");
}

/** Make a control show a rating, as `valued` returns it. */
export function shown(group, rating) {
  const menu = group.querySelector("select");
  if (menu) menu.value = rating ?? "";
  for (const one of group.querySelectorAll("input")) {
    one.checked = one.type === "checkbox" ? rating === null : one.value === String(rating);
  }
}
