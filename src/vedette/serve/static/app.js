// The shell: navigation, theme, language, key, and the state of the server.

import { get, key } from "./api.js";
import { h } from "./dom.js";
import { choose, language, preferred, t } from "./words.js";
import { SECTIONS, VIEWS } from "./views.js";

const THEME = "vedette-theme";
const POLL_MS = 30_000;
const main = document.getElementById("main");
let leave = () => {};
const server = { model: "" };

function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function drawShell() {
  document.getElementById("skip").textContent = t("skip");
  document.getElementById("theme").textContent = t(isDark() ? "light" : "dark");
  document.getElementById("key").textContent = t("key");
  document.getElementById("language-label").textContent = t("language");
  document.getElementById("language").value = language;
  const nav = document.getElementById("nav");
  nav.setAttribute("aria-label", t("sections"));
  nav.replaceChildren(...SECTIONS.flatMap(([name, views]) => [
    h("h2", {}, t(`section.${name}`)),
    h("ul", {}, views.map((view) => h("li", {}, h("a", { href: `#${view}` }, t(`${view}.title`))))),
  ]));
}

async function show() {
  leave();
  leave = () => {};
  const wanted = location.hash.slice(1).split("/")[0];
  const name = wanted in VIEWS ? wanted : "decide";
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${t(`${name}.title`)} - vedette`;
  const body = h("div", {});
  main.replaceChildren(h("h1", {}, t(`${name}.title`)), h("p", { class: "lead" }, t(`${name}.lead`)), body);
  leave = VIEWS[name](body, server) ?? (() => {});
}

async function lookAtServer() {
  const state = document.getElementById("state");
  const say = (how, words) => {
    if (state.textContent !== words) state.textContent = words;
    state.className = `state ${how}`;
  };
  try {
    server.models = (await get("/v1/models")).data;
    server.model = server.models[0].id;
    say("good", t("state.ready", { model: server.model, tokens: server.models[0].meta?.n_ctx ?? "?" }));
  } catch (problem) {
    say("bad", problem.status === 401 ? t("state.key") : problem.status ? problem.message : t("state.away"));
    if (problem.status === 401 && !lookAtServer.asked) {
      lookAtServer.asked = true;
      askForKey();
    }
  }
}

function askForKey() {
  const field = h("input", { type: "password", id: "key-field", autocomplete: "off", value: key.get() });
  const dialog = h("dialog", { "aria-labelledby": "key-title" },
    h("form", { method: "dialog", onsubmit: () => { key.set(field.value.trim()); refresh(); } },
      h("h2", { id: "key-title" }, t("key")),
      h("p", {}, t("key.why")),
      h("label", { for: "key-field" }, t("key")),
      field,
      h("div", { class: "row" }, h("button", { class: "main" }, t("use")),
        h("button", { type: "button", onclick: () => dialog.close() }, t("cancel")))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

async function refresh() {
  await lookAtServer();
  await show();
}

document.getElementById("theme").addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  localStorage.setItem(THEME, theme);
  applyTheme(theme);
  drawShell();
});
document.getElementById("language").addEventListener("change", async (event) => {
  await choose(event.target.value);
  drawShell();
  await refresh();
});
document.getElementById("key").addEventListener("click", askForKey);
addEventListener("hashchange", async () => {
  await show();
  main.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) document.querySelector("main button.main")?.click();
});

applyTheme(localStorage.getItem(THEME));
await choose(preferred());
drawShell();
await refresh();
setInterval(lookAtServer, POLL_MS);
