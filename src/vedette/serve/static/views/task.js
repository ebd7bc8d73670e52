// Any task of the server: its input, its options as JSON, its answer as it comes.

import { get, post } from "../api.js";
import { code, h, labelled, table } from "../dom.js";
import { area, json, playground, problem } from "../playground.js";
import { t } from "../words.js";

function kind(schema) {
  return schema.type ?? (schema.enum ? schema.enum.join(", ") : (schema.anyOf ?? []).map(kind).join(" | "));
}

async function fill(body) {
  const wait = h("p", { class: "empty", role: "status" }, t("working"));
  body.append(wait);
  const { data } = await get("/v1/tasks");
  wait.remove();
  const byName = new Map(data.map((one) => [one.id, one]));
  const name = h("select", {}, data.map((one) => h("option", { value: one.id }, one.id)));
  const input = area(t("classify.example"), 5);
  const is_json = h("input", { type: "checkbox" });
  const options = area("{}", 6, "code");
  const told = h("div", {});
  const empty = { string: "", array: [], object: {}, boolean: false, integer: 0, number: 0 };
  const tell = () => {
    const one = byName.get(name.value);
    const needed = (one.options?.required ?? []).map((key) => [key, empty[one.options.properties[key]?.type] ?? null]);
    options.value = JSON.stringify(Object.fromEntries(needed), null, 2);
    const properties = Object.entries(one.options?.properties ?? {});
    told.replaceChildren(
      h("p", {}, one.unavailable ?? one.description),
      h("details", {}, h("summary", {}, t("task.options", { n: properties.length })),
        table([t("task.name"), t("task.kind"), t("task.meaning")], properties.map(([key, schema]) => [key, String(kind(schema)), schema.description ?? ""]))));
  };
  if (byName.has("sentiment")) name.value = "sentiment"; // one that answers without options
  name.addEventListener("change", tell);
  tell();
  playground(body, [labelled(t("task.task"), name), told, labelled(t("input"), input), labelled(t("task.json"), is_json), labelled(t("task.given"), options, "JSON")], async () => {
    const value = is_json.checked ? json(input, t("input")) : input.value;
    return code(await post(`/v1/tasks/${name.value}`, { input: value, options: json(options, t("task.given")) }));
  });
}

export function task(body) {
  fill(body).catch((error) => body.append(problem(error)));
}
