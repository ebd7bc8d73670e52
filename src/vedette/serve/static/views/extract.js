// A text made into an object of a schema: what is enforced, what was written, and where it stands.

import { post } from "../api.js";
import { code, h, labelled, marked, table } from "../dom.js";
import { area, json, playground, usage } from "../playground.js";
import { t } from "../words.js";

const SCHEMA = {
  type: "object",
  properties: {
    level: { enum: ["INFO", "WARN", "ERROR"] },
    service: { type: "string", "x-verbatim": true },
    order: { type: ["string", "null"], "x-one-of-input": "[A-Z]-\\d+" },
    tries: { type: ["integer", "null"] },
  },
  required: ["level", "service", "order", "tries"],
};

function report(found) {
  const rows = found.keywords.map((one) => [one.pointer || "/", one.keyword, t(`extract.${one.verdict}`), one.reason]);
  return h("details", {},
    h("summary", {}, t("extract.report", found.counts)),
    table([t("extract.place"), t("extract.keyword"), t("extract.verdict"), t("extract.reason")], rows),
    found.unknown.map((one) => h("p", { class: "soft" }, `${one.pointer || "/"} ${one.keyword}: ${one.reason}`)),
    found.bounds.map((bound) => h("p", { class: "soft" }, bound)));
}

export function extract(body) {
  const text = area(t("extract.example"), 4);
  const schema = area(JSON.stringify(SCHEMA, null, 2), 16, "code");
  playground(body, [labelled(t("text"), text), labelled(t("extract.schema"), schema)], async () => {
    const wanted = json(schema, t("extract.schema"));
    const [line, told] = await Promise.all([
      post("/v1/tasks/extract", { input: text.value, options: { schema: wanted } }),
      post("/v1/schema", { schema: wanted }),
    ]);
    const spans = Object.entries(line.spans ?? {}).map(([pointer, [start, end]]) => ({ start, end, note: pointer.slice(1) }));
    return [
      code(line.value),
      spans.length ? h("div", {}, h("h3", {}, t("extract.spans")), marked(text.value, spans)) : null,
      report(told),
      ...usage(line),
    ].filter(Boolean);
  });
}
