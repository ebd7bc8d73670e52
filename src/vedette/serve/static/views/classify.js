// One label of a list, with its probabilities and the words it rests on.

import { post } from "../api.js";
import { bars, h, labelled, marked } from "../dom.js";
import { area, lines, playground, usage } from "../playground.js";
import { t } from "../words.js";

export function classify(body) {
  const text = area(t("classify.example"), 5);
  const labels = area(t("classify.example.labels").split(", ").join("\n"), 5);
  const reasons = h("input", { type: "checkbox", checked: true });
  playground(body, [labelled(t("text"), text), labelled(t("classify.labels"), labels, t("one.a.line")), labelled(t("classify.evidence"), reasons)], async () => {
    const options = { labels: lines(labels), ...(reasons.checked ? { evidence: true } : {}) };
    const line = await post("/v1/tasks/classify", { input: text.value, options });
    const { label, probabilities, margin, evidence } = line.value;
    return [
      h("h2", {}, label ?? t("classify.unsure")),
      probabilities ? bars(probabilities, label) : null,
      margin === undefined ? null : h("p", { class: "soft" }, t("classify.margin", { points: (margin * 100).toFixed(1) })),
      evidence?.span ? h("div", {}, h("h3", {}, t("classify.words")), marked(text.value, [{ start: evidence.span[0], end: evidence.span[1] }])) : null,
      ...usage(line),
    ].filter(Boolean);
  });
}
