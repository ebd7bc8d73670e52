// The page's own texts, in the language that was chosen.

const LANGUAGE = "vedette-language";
let words = {};
export let language = "en";

export async function choose(wanted) {
  language = wanted;
  localStorage.setItem(LANGUAGE, wanted);
  words = await (await fetch(`page/words.${wanted}.json`)).json();
  document.documentElement.lang = wanted === "zh" ? "zh-Hans" : "en";
}

export function preferred() {
  return localStorage.getItem(LANGUAGE) ?? (navigator.language.startsWith("zh") ? "zh" : "en");
}

// The text of a name; `{x}` in it is replaced by values.x.
export function t(name, values = {}) {
  if (!(name in words)) throw new Error(`no text ${name}`);
  return words[name].replace(/\{(\w+)\}/g, (_, value) => values[value]);
}
