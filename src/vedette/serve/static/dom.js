// Elements, made by name. Text is always set as text, so nothing that a model writes becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

let n_fields = 0;

// A label with its field; `field` is an element without an id yet.
export function labelled(text, field, hint = "") {
  field.id = `field-${(n_fields += 1)}`;
  const label = h("label", { for: field.id }, text);
  if (hint) {
    const told = h("span", { class: "hint", id: `${field.id}-hint` }, ` ${hint}`);
    label.append(told);
  }
  return h("div", {}, label, field);
}

// A text in which spans are marked: [{start, end, note}], in characters as Python counts them
// (code points). Where spans overlap, the first one is kept.
export function marked(text, spans) {
  const points = Array.from(text);
  const parts = [];
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    if (span.start < at || span.end > points.length) continue;
    parts.push(points.slice(at, span.start).join(""));
    const inner = points.slice(span.start, span.end).join("");
    parts.push(h("mark", {}, inner, span.note ? h("small", {}, span.note) : null));
    at = span.end;
  }
  parts.push(points.slice(at).join(""));
  return h("div", { class: "text" }, parts);
}

export function code(value) {
  return h("pre", { tabindex: "0" }, typeof value === "string" ? value : JSON.stringify(value, null, 2));
}

// A number as one reads it; of money far below one, enough of it.
const digits = (value) =>
  value.toLocaleString(undefined, { maximumFractionDigits: Math.abs(value) < 1 ? 6 : 3 });

export function table(heads, rows) {
  const is_number = (cell) => typeof cell === "number";
  const head = heads.map((name, i) =>
    h("th", { scope: "col", class: rows.length && is_number(rows[0][i]) ? "number" : null }, name));
  const body = rows.map((row) =>
    h("tr", {}, row.map((cell) => h("td", { class: is_number(cell) ? "number" : null }, is_number(cell) ? digits(cell) : cell))));
  return h("div", { class: "scroll", tabindex: "0" }, h("table", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

// Probabilities as bars: {name: p}; the chosen one in bold.
export function bars(probabilities, chosen) {
  const rows = Object.entries(probabilities).map(([name, p]) => [
    h("span", { class: name === chosen ? "name chosen" : "name" }, name),
    svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { width: Math.max(0, Math.min(100, p * 100)), height: 10 })),
    h("span", { class: "value" }, `${(p * 100).toFixed(1)}%`),
  ]);
  return h("div", { class: "bars" }, rows);
}
