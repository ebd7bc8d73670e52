// A long text within a budget of tokens, in its own words.

import { post } from "../api.js";
import { h, labelled, marked } from "../dom.js";
import { area, playground } from "../playground.js";
import { t } from "../words.js";

export function compress(body) {
  const text = area(t("compress.example"), 12);
  const budget = h("input", { type: "number", min: 20, value: 60 });
  const query = h("input", { type: "text" });
  playground(body, [labelled(t("text"), text), labelled(t("compress.budget"), budget), labelled(t("compress.query"), query, t("optional"))], async () => {
    const options = { budget: Number(budget.value), ...(query.value.trim() ? { query: query.value.trim() } : {}) };
    const { value } = await post("/v1/tasks/compress", { input: text.value, options });
    if (value === null) return h("p", {}, t("compress.nothing"));
    const spans = (value.spans ?? []).map(([start, end]) => ({ start, end }));
    return [
      h("p", {}, t("compress.sizes", { from: value.source_tokens, to: value.tokens })),
      h("div", { class: "text" }, value.text),
      ...(spans.length ? [h("h3", {}, t("compress.kept")), marked(text.value, spans)] : []),
    ];
  });
}
