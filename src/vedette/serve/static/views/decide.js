// Questions about a text, answered by scoring: nothing is written, so nothing can be malformed.

import { post } from "../api.js";
import { bars, h, labelled } from "../dom.js";
import { area, lines, playground, usage } from "../playground.js";
import { t } from "../words.js";

const TYPES = ["noul", "choice", "score"];

function question(list, type, words, options) {
  const kind = h("select", {}, TYPES.map((name) => h("option", { value: name }, t(`decide.${name}`))));
  kind.value = type;
  const asked = h("input", { type: "text", value: words });
  const criteria = area(options.join("\n"), 3);
  const box = labelled(t("decide.options"), criteria, t("decide.options.hint"));
  const show = () => { box.hidden = kind.value === "noul"; };
  kind.addEventListener("change", show);
  show();
  const remove = h("button", { type: "button", onclick: () => { item.remove(); list.querySelector("textarea, input")?.focus(); } }, t("remove"));
  const item = h("fieldset", { class: "card" }, h("legend", {}, t("decide.question")),
    labelled(t("decide.instructions"), asked), labelled(t("decide.type"), kind), box, h("div", { class: "row" }, remove));
  item.read = () => {
    const found = { type: kind.value, instructions: asked.value };
    if (kind.value === "choice") found.criteria = Object.fromEntries(lines(criteria).map((line) => [line, null]));
    if (kind.value === "score") found.criteria = lines(criteria);
    return found;
  };
  list.append(item);
}

function shown(asked, answer) {
  const title = h("h3", {}, asked.instructions);
  if (answer.type === "noul") return [title, bars({ [t("yes")]: answer.noul, [t("no")]: 1 - answer.noul }, answer.noul >= 0.5 ? t("yes") : t("no"))];
  const named = answer.type === "score"
    ? Object.fromEntries(Object.entries(answer.probabilities).map(([level, p]) => [answer.legend[level], p]))
    : answer.probabilities;
  const best = Object.entries(named).reduce((a, b) => (b[1] > a[1] ? b : a))[0];
  const told = answer.type === "score" ? [h("p", {}, t("decide.mean", { score: answer.score.toFixed(2) }))] : [];
  return [title, bars(named, best), told, h("p", { class: "soft" }, t("decide.confidence", { percent: Math.round(answer.confidence * 100) }))];
}

export function decide(body) {
  const state = area(t("decide.example"), 6);
  const list = h("div", {});
  question(list, "choice", t("decide.example.team"), ["billing", "shipping", "technical"]);
  question(list, "noul", t("decide.example.angry"), []);
  question(list, "score", t("decide.example.urgent"), t("decide.example.levels").split(", "));
  const more = h("button", { type: "button", onclick: () => question(list, "noul", "", []) }, t("decide.more"));
  playground(body, [labelled(t("text"), state), list, more], async () => {
    const questions = Object.fromEntries([...list.children].map((item, i) => [`q${i + 1}`, item.read()]));
    const found = await post("/v1/systemone", { state: state.value, questions });
    return [Object.entries(found.answers).flatMap(([id, answer]) => shown(questions[id], answer)).flat(), usage(found)].flat();
  });
}
