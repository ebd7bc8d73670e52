// Documents in the order of their worth for a question.

import { post } from "../api.js";
import { h, labelled, table } from "../dom.js";
import { area, lines, playground } from "../playground.js";
import { t } from "../words.js";

export function rerank(body, server) {
  const query = h("input", { type: "text", value: t("rerank.example.query") });
  const documents = area(t("rerank.example.documents").split(" | ").join("\n"), 8);
  playground(body, [labelled(t("rerank.query"), query), labelled(t("rerank.documents"), documents, t("one.a.line"))], async () => {
    const texts = lines(documents);
    const found = await post("/v1/rerank", { model: server.model, query: query.value, documents: texts });
    return table([t("rerank.place"), t("rerank.score"), t("text")],
      found.results.map((one, i) => [i + 1, Number(one.relevance_score.toFixed(4)), texts[one.index]]));
  });
}
