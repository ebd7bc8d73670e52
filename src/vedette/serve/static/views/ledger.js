// What the gateway's requests cost, and what they would have cost at the large model.

import { get } from "../api.js";
import { h, table } from "../dom.js";
import { problem } from "../playground.js";
import { t } from "../words.js";

async function fill(body) {
  try {
    const found = await get("/v1/ledger");
    const rows = found.routes ?? found.data ?? [];
    body.append(rows.length
      ? table(Object.keys(rows[0]), rows.map((row) => Object.values(row)))
      : h("p", { class: "empty" }, t("ledger.none")));
  } catch (error) {
    body.append(error.status === 404 ? h("p", { class: "empty" }, t("ledger.off")) : problem(error));
  }
}

export function ledger(body) {
  fill(body);
}
