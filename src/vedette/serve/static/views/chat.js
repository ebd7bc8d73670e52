// A chat as any client of the API has it: streamed, with its speed, and ended at a click.

import { stream } from "../api.js";
import { h, labelled } from "../dom.js";
import { area, problem } from "../playground.js";
import { t } from "../words.js";

export function chat(body, server) {
  const turns = [];
  const log = h("div", { role: "log", "aria-label": t("chat.title") });
  const words = area("", 3);
  const model = h("select", {}, (server.models ?? []).map((one) => h("option", { value: one.id }, one.id)));
  const temperature = h("input", { type: "number", min: 0, max: 2, step: 0.1, value: 0 });
  const send = h("button", { type: "button", class: "main" }, t("chat.send"));
  const stop = h("button", { type: "button", disabled: true }, t("chat.stop"));
  const clear = h("button", { type: "button", onclick: () => { turns.length = 0; log.replaceChildren(); } }, t("chat.clear"));
  let ending = new AbortController();
  stop.addEventListener("click", () => ending.abort());
  const turn = (who, said) => {
    const text = h("div", { class: "text" }, said);
    log.append(h("div", { class: "turn" }, h("div", { class: "who" }, t(`chat.${who}`)), text));
    return text;
  };
  send.addEventListener("click", async () => {
    if (!words.value.trim() || send.disabled) return;
    turns.push({ role: "user", content: words.value });
    turn("user", words.value);
    words.value = "";
    const shown = turn("assistant", "");
    ending = new AbortController();
    [send.disabled, stop.disabled] = [true, false];
    const began = performance.now();
    let said = "";
    try {
      const asked = { model: model.value, messages: turns, temperature: Number(temperature.value), stream_options: { include_usage: true } };
      for await (const event of stream("/v1/chat/completions", asked, ending.signal)) {
        said += event.choices[0]?.delta.content ?? "";
        shown.textContent = said;
        if (event.usage) {
          const seconds = (performance.now() - began) / 1000;
          shown.after(h("p", { class: "soft" }, t("chat.speed", { tokens: event.usage.completion_tokens, rate: (event.usage.completion_tokens / seconds).toFixed(1) })));
        }
      }
    } catch (error) {
      if (error.name === "AbortError") shown.after(h("p", { class: "soft" }, t("chat.stopped")));
      else shown.after(problem(error));
    } finally {
      turns.push({ role: "assistant", content: said });
      [send.disabled, stop.disabled] = [false, true];
      words.focus();
    }
  });
  body.append(log, labelled(t("chat.words"), words), h("div", { class: "row" }, send, stop, clear),
    h("div", { class: "pair" }, labelled(t("chat.model"), model), labelled(t("chat.temperature"), temperature)));
  return () => ending.abort();
}
