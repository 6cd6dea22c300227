/** The document of the interface, /openapi.json, for people. */

import { ask, telling } from "./asking.js";
import { element, part } from "./dom.js";

/** Return a type of JSON Schema in words. */
function typed(schema, schemas) {
  if (schema.$ref) return typed(schemas[schema.$ref.split("/").pop()], schemas);
  if (schema.anyOf) return schema.anyOf.map((one) => typed(one, schemas)).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(" or ");
  if (schema.type === "array") return schema.items ? `list of ${typed(schema.items, schemas)}` : "list";
  if (schema.type === "object" && schema.title) return `object ${schema.title}`;
  const inner = schema.additionalProperties;
  if (schema.type === "object") return typeof inner === "object" ? `object of ${typed(inner, schemas)}` : "object";
  return [schema.type ?? "anything"].flat().join(" or ");
}

/** Return the names of the objects that a schema leads to, itself first. */
function within(schema, schemas, found = new Set()) {
  const name = schema?.$ref?.split("/").pop();
  if (name && !found.has(name)) {
    found.add(name);
    within(schemas[name], schemas, found);
  } else if (!name && schema && typeof schema === "object") {
    for (const one of Object.values(schema)) within(one, schemas, found);
  }
  return found;
}

/** Return a list of names, with what there is to say of each. */
function listed(fields) {
  const list = element("dl");
  for (const { name, type, required, description } of fields) {
    const term = element("dt");
    term.append(element("code", { text: name }), ` ${type}${required ? ", required" : ""}`);
    list.append(term);
    if (description) list.append(element("dd", { text: description }));
  }
  return list;
}

/** Return the members of an object. */
function members(name, schemas) {
  const { title, description, properties = {}, required = [] } = schemas[name];
  const all = Object.entries(properties).map(([member, schema]) => ({
    name: member, type: typed(schema, schemas), required: required.includes(member), description: schema.description,
  }));
  const shown = element("details");
  shown.append(element("summary", { text: title ?? name }), element("p", { text: description ?? "" }), listed(all));
  return shown;
}

/** Return the command that asks so. */
function curl(method, path, { parameters = [], requestBody }) {
  let address = location.origin + path;
  for (const { name, in: where, example } of parameters) {
    if (where === "path") address = address.replace(`{${name}}`, encodeURIComponent(example));
  }
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const example = requestBody?.content["application/json"].example;
  const body = example === undefined ? "" : ` -d ${quoted(JSON.stringify(example))}`;
  return `curl ${["GET", "POST"].includes(method) ? "" : `-X ${method} `}${quoted(address)}${body}`;
}

/** Return what there is to say of one request. */
function request(method, path, described, schemas) {
  const shown = element("section");
  const heading = element("h2");
  heading.append(element("code", { text: `${method} ${path}` }));
  shown.id = `${method} ${path}`;
  shown.append(heading, element("p", { text: described.summary }), element("pre", { text: curl(method, path, described) }));
  const parameters = (described.parameters ?? []).map(({ name, required, schema }) => ({
    name, type: typed(schema, schemas), required, description: schema.description,
  }));
  if (parameters.length) shown.append(element("h3", { text: "In the address" }), listed(parameters));
  const answer = described.responses["200"].content;
  for (const [title, content] of [["Body", described.requestBody?.content], ["Answer", answer]]) {
    const names = within(content?.["application/json"].schema, schemas);
    if (names.size) shown.append(element("h3", { text: title }), ...Array.from(names, (name) => members(name, schemas)));
  }
  return shown;
}

telling(async () => {
  const { info, paths, components } = await ask("/openapi.json");
  part(document, "about").textContent = `cofactor ${info.version}.`;
  for (const [path, methods] of Object.entries(paths)) {
    for (const [lower, described] of Object.entries(methods)) {
      const shown = request(lower.toUpperCase(), path, described, components.schemas);
      const link = element("a", { text: shown.id });
      link.href = `#${encodeURIComponent(shown.id)}`;
      const entry = element("li");
      entry.append(link, ` ${described.summary}`);
      part(document, "contents").append(entry);
      part(document, "requests").append(shown);
    }
  }
});
