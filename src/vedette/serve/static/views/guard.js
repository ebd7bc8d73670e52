// Does a text try to take over, or carry what must not leave?

import { post } from "../api.js";
import { h, labelled, marked, table } from "../dom.js";
import { area, playground } from "../playground.js";
import { t } from "../words.js";

const POLICIES = ["prompt-injection", "indirect-injection", "jailbreak", "privacy", "secrets", "content"];

export function guard(body) {
  const text = area(t("guard.example"), 6);
  const boxes = POLICIES.map((name) => h("label", { class: "inline" }, h("input", { type: "checkbox", value: name, checked: name !== "content" }), name));
  const group = h("fieldset", { class: "card" }, h("legend", {}, t("guard.policies")), h("div", { class: "row" }, boxes));
  playground(body, [labelled(t("text"), text), group], async () => {
    const policies = [...group.querySelectorAll("input:checked")].map((box) => box.value);
    const { value } = await post("/v1/tasks/guard", { input: text.value, options: { policies } });
    const all = Object.entries(value.policies ?? { [value.policy]: value });
    const spans = all.filter(([, one]) => one.flagged && one.span).map(([name, one]) => ({ start: one.span[0], end: one.span[1], note: name }));
    return [
      h("h2", { class: value.flagged ? "bad-text" : "good-text" }, t(value.flagged ? "guard.flagged" : "guard.passed")),
      marked(text.value, spans),
      table([t("guard.policy"), t("guard.verdict"), t("guard.score"), t("guard.by")],
        all.map(([name, one]) => [name, t(one.flagged ? "guard.flagged" : "guard.passed"), one.score === null || one.score === undefined ? "" : Number(one.score.toFixed(3)), one.by ?? ""])),
    ];
  });
}
