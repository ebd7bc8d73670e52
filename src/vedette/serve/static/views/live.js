// What the server is doing: the latest requests, and its log. No text of anybody is in either.

import { get } from "../api.js";
import { h, table } from "../dom.js";
import { every, problem } from "../playground.js";
import { t } from "../words.js";

const POLL_MS = 1500;

export function live(body) {
  const now = h("p", {});
  const requests = h("div", {});
  const log = h("pre", { tabindex: "0", "aria-label": t("live.log") });
  body.append(now, h("h2", {}, t("live.requests")), requests, h("h2", {}, t("live.log")), log);
  return every(POLL_MS, async () => {
    try {
      const found = await get("/v1/activity");
      now.textContent = t("live.now", { n: found.under_way, most: found.most });
      requests.replaceChildren(found.requests.length
        ? table([t("live.time"), t("live.route"), t("live.status"), t("live.ms"), t("live.id")],
            found.requests.map((one) => [new Date(one.at * 1000).toLocaleTimeString(), `${one.method} ${one.path}`, String(one.status ?? t("live.gone")), Math.round(one.ms), one.id.slice(0, 8)]))
        : h("p", { class: "empty" }, t("live.none")));
      log.textContent = found.log.join("\n") || t("live.quiet");
    } catch (error) {
      requests.replaceChildren(problem(error));
    }
  });
}
