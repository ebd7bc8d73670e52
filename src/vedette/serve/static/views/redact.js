// Personal data and secrets, marked in the text and replaced beside it.

import { post } from "../api.js";
import { h, labelled, marked, table } from "../dom.js";
import { area, playground } from "../playground.js";
import { t } from "../words.js";

export function redact(body) {
  const text = area(t("redact.example"), 8);
  playground(body, [labelled(t("text"), text)], async () => {
    const line = await post("/v1/tasks/redact", { input: text.value });
    const entities = line.entities ?? [];
    const points = Array.from(text.value);
    return [
      h("div", { class: "pair" },
        h("div", {}, h("h2", {}, t("redact.before")), marked(text.value, entities.map(({ start, end, kind }) => ({ start, end, note: kind })))),
        h("div", {}, h("h2", {}, t("redact.after")), h("div", { class: "text" }, line.value))),
      entities.length
        ? table([t("redact.kind"), t("redact.value"), t("redact.placeholder"), t("redact.by")],
            entities.map((one) => [one.kind, points.slice(one.start, one.end).join(""), one.placeholder, one.rule ?? one.by ?? ""]))
        : h("p", {}, t("redact.none")),
    ];
  });
}
