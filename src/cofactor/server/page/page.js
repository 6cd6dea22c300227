/** The page begins: it asks which models there are, and shows what one of them can be asked. */

import { ask, telling } from "./asking.js";
import { part } from "./dom.js";
import { LabelsPage } from "./labels.js";
import { RatingsPage } from "./ratings.js";
import { change, decoded, read } from "./state.js";

const KINDS = { ratings: RatingsPage, labels: LabelsPage };
const main = document.querySelector("main");
const menu = document.getElementById("model");
let page;

/** Return the model that the address names, the first one where it names none. */
function named(models) {
  const name = decoded(read().model ?? "");
  return models.includes(name) ? name : models[0];
}

async function begin(models) {
  const name = named(models);
  menu.value = name;
  const model = await ask("/v1/model", { query: { model: name } });
  page?.end();
  page = new KINDS[model.kind](main, model);
  document.title = `${model.model} · cofactor`;
  part(document, "about").textContent = `${model.model}: ${page.sizes}. cofactor ${model.version}.`;
  await page.restore();
}

telling(async () => {
  const { models } = await ask("/v1/models");
  menu.append(...models.map((name) => new Option(name, name)));
  part(document, "choice").hidden = models.length < 2;
  menu.addEventListener("change", () => {
    history.pushState(null, "", location.pathname);
    change("model", encodeURIComponent(menu.value), { step: false });
    telling(() => begin(models));
  });
  addEventListener("popstate", () => telling(() => (named(models) === page?.model.name ? page.restore() : begin(models))));
  await begin(models);
});

part(document, "skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment of the address is taken
  part(main, "target")?.focus();
});
