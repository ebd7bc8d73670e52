// What every playground has: fields on the left, one button, an answer on the right.

import { Problem } from "./api.js";
import { h } from "./dom.js";
import { t } from "./words.js";

export function problem(error) {
  const words = error instanceof Problem && error.message === "unreachable" ? t("state.away") : error.message;
  return h("p", { class: "problem", role: "alert" }, words);
}

// `ask()` gives the elements of the answer; what it raises is shown in their place.
export function playground(body, fields, ask, run = t("run")) {
  const answer = h("section", { "aria-live": "polite", "aria-label": t("answer") }, h("p", { class: "empty" }, t("answer.none")));
  const button = h("button", { type: "button", class: "main" }, run);
  const time = h("span", { class: "soft" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    time.textContent = t("working");
    const began = performance.now();
    try {
      const found = await ask();
      answer.replaceChildren(...[found].flat());
      time.textContent = t("took", { ms: Math.round(performance.now() - began) });
    } catch (error) {
      answer.replaceChildren(problem(error));
      time.textContent = "";
    } finally {
      button.disabled = false;
    }
  });
  body.append(h("div", { class: "pair" },
    h("section", { "aria-label": t("input") }, fields, h("div", { class: "row" }, button, time, h("span", { class: "hint" }, t("run.keys")))),
    answer));
}

export function area(value, rows = 7, kind = "") {
  return h("textarea", { rows, class: kind || null, spellcheck: kind ? "false" : null, value });
}

// The lines of a field that say something.
export function lines(field) {
  return field.value.split("\n").map((line) => line.trim()).filter(Boolean);
}

export function json(field, name) {
  try {
    return JSON.parse(field.value);
  } catch (error) {
    throw new Error(t("json.wrong", { name, reason: error.message }));
  }
}

export function usage(line) {
  const used = line.usage;
  if (!used) return [];
  if (used.output_tokens === 0) return [h("p", { class: "soft" }, t("usage.read", { prompt: used.input_tokens }))];
  return [h("p", { class: "soft" }, t("usage", {
    prompt: used.prompt_tokens, answer: used.completion_tokens, forced: used.forced_tokens,
  }))];
}

// The same words again and again until the view is left; returns what stops it.
export function every(ms, look) {
  let stopped = false;
  let timer = 0;
  const turn = async () => {
    await look();
    if (!stopped) timer = setTimeout(turn, ms);
  };
  turn();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
