// What a step costs on this machine, and what guessing ahead has brought.

import { get } from "../api.js";
import { h, svg, table } from "../dom.js";
import { every, problem } from "../playground.js";
import { t } from "../words.js";

const POLL_MS = 4000;
const [WIDTH, HEIGHT, LEFT, BOTTOM] = [640, 260, 48, 34];

function plot(points) {
  const [n_most, ms_most] = [0, 1].map((axis) => Math.max(...points.map((point) => point[axis])));
  const x = (n) => LEFT + (n / n_most) * (WIDTH - LEFT - 12);
  const y = (ms) => HEIGHT - BOTTOM - (ms / ms_most) * (HEIGHT - BOTTOM - 12);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  return svg("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": t("machine.curve") },
    ticks.map((part) => [
      svg("line", { class: "axis", x1: LEFT, x2: WIDTH - 12, y1: y(part * ms_most), y2: y(part * ms_most) }),
      svg("text", { x: LEFT - 6, y: y(part * ms_most) + 4, "text-anchor": "end" }, (part * ms_most).toFixed(ms_most < 10 ? 1 : 0)),
      svg("text", { x: x(part * n_most), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, String(Math.round(part * n_most))),
    ]),
    svg("text", { x: WIDTH - 12, y: HEIGHT - 4, "text-anchor": "end" }, t("machine.tokens")),
    svg("text", { x: 4, y: 10 }, "ms"),
    svg("polyline", { class: "line", points: points.map(([n, ms]) => `${x(n)},${y(ms)}`).join(" ") }),
    points.map(([n, ms]) => svg("circle", { cx: x(n), cy: y(ms), r: 3 }, svg("title", {}, `${n}: ${ms.toFixed(1)} ms`))));
}

export function machine(body) {
  const place = h("div", {});
  body.append(place);
  return every(POLL_MS, async () => {
    try {
      const found = await get("/v1/machine");
      const { model, width, context, engine } = found;
      const told = { model, width, context, ...(engine ?? {}) };
      const shown = { tuned: (is) => t(is ? "yes" : "no"), outside: (share) => `${(share * 100).toFixed(1)}%` };
      const rows = Object.entries(told).map(([name, value]) => [t(`machine.${name}`), shown[name]?.(value) ?? value.toLocaleString()]);
      place.replaceChildren(
        table([t("machine.what"), t("machine.value")], rows),
        h("h2", {}, t("machine.curve")),
        found.curve.length > 1 ? h("div", {}, plot(found.curve), h("p", { class: "soft" }, t(`machine.curve.${found.curve_from}`))) : h("p", { class: "empty" }, t("machine.curve.none")));
    } catch (error) {
      place.replaceChildren(problem(error));
    }
  });
}
