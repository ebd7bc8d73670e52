// What the gateway's requests cost, and what they would have cost at the large model.

import { get } from "../api.js";
import { h, table } from "../dom.js";
import { every, problem } from "../playground.js";
import { t } from "../words.js";

const POLL_MS = 4000;
const money = (value) => Number(value.toFixed(6));

function sums(rows) {
  const heads = ["route", "tier", "requests", "unanswered", "cached", "prompt_tokens", "completion_tokens", "cost", "saved", "mean_ms"];
  return table(heads.map((name) => t(`ledger.${name}`)), rows.map((one) => [
    one.route, one.tier, one.requests, one.unanswered, one.cached, one.prompt_tokens, one.completion_tokens,
    money(one.cost), money(one.saved), Math.round(one.mean_ms),
  ]));
}

function latest(rows) {
  const heads = ["time", "route", "tier", "reason", "outcome", "cost", "saved", "ms"];
  return table(heads.map((name) => t(`ledger.${name}`)), rows.map((one) => [
    new Date(one.at_s * 1000).toLocaleTimeString(), one.route, one.tier, one.reason, one.outcome,
    money(one.cost), money(one.saved), Math.round(one.ms),
  ]));
}

async function look(place) {
  try {
    if (!(await get("/v1/machine")).has_gateway) {
      place.replaceChildren(h("p", { class: "empty" }, t("ledger.off")));
      return;
    }
    const found = await get("/v1/ledger");
    place.replaceChildren(...(found.requests.length
      ? [sums([...found.routes, found.total]), h("h2", {}, t("ledger.latest")), latest(found.requests)]
      : [h("p", { class: "empty" }, t("ledger.none"))]));
  } catch (error) {
    place.replaceChildren(problem(error));
  }
}

export function ledger(body) {
  const place = h("div", {});
  body.append(place);
  return every(POLL_MS, () => look(place));
}
