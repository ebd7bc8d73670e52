// Batch jobs: a file goes in, progress is watched, errors are looked at, the output is taken.

import { get, post, text, upload } from "../api.js";
import { h, labelled, table } from "../dom.js";
import { every, problem } from "../playground.js";
import { t } from "../words.js";

const POLL_MS = 1500;
const ROWS_SHOWN = 20;
const ENDED = ["completed", "failed", "cancelled", "expired"];

function save(name, content) {
  const link = h("a", { href: URL.createObjectURL(new Blob([content], { type: "application/jsonl" })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

async function showRows(place, id, title) {
  try {
    const rows = (await text(`/v1/files/${id}/content`)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
    place.replaceChildren(h("h3", {}, title), table([t("batches.id"), t("batches.answer")],
      rows.slice(0, ROWS_SHOWN).map((row) => [row.custom_id, JSON.stringify(row.error ?? row.response?.body)])),
      rows.length > ROWS_SHOWN ? h("p", { class: "soft" }, t("batches.more", { n: rows.length - ROWS_SHOWN })) : "");
  } catch (error) {
    place.replaceChildren(problem(error));
  }
}

function card(batch) {
  const { total, completed, failed } = batch.request_counts ?? { total: 0, completed: 0, failed: 0 };
  const rows = h("div", { "aria-live": "polite" });
  const buttons = [];
  if (!ENDED.includes(batch.status)) buttons.push(h("button", { type: "button", onclick: () => post(`/v1/batches/${batch.id}/cancel`, {}).catch((error) => rows.replaceChildren(problem(error))) }, t("cancel")));
  if (batch.output_file_id) {
    buttons.push(h("button", { type: "button", onclick: () => showRows(rows, batch.output_file_id, t("batches.output")) }, t("batches.output")));
    buttons.push(h("button", { type: "button", onclick: async () => save(`${batch.id}.jsonl`, await text(`/v1/files/${batch.output_file_id}/content`)) }, t("batches.save")));
  }
  if (batch.error_file_id) buttons.push(h("button", { type: "button", onclick: () => showRows(rows, batch.error_file_id, t("batches.errors")) }, t("batches.errors")));
  const bar = h("progress", { max: Math.max(1, total), value: completed + failed, "aria-label": t("batches.progress") });
  const item = h("div", { class: "card" }, h("h3", {}, `${batch.id} `, h("span", { class: "soft" }, batch.status)), bar,
    h("p", {}, t("batches.counts", { done: completed + failed, total, failed })), h("div", { class: "row" }, buttons), rows);
  item.state = JSON.stringify([batch.status, completed, failed, batch.output_file_id, batch.error_file_id]);
  return item;
}

export function batches(body) {
  const file = h("input", { type: "file", accept: ".jsonl,.ndjson,application/jsonl" });
  const endpoint = h("select", {}, ["/v1/chat/completions", "/v1/completions", "/v1/embeddings"].map((path) => h("option", { value: path }, path)));
  const said = h("div", { "aria-live": "polite" });
  const list = h("div", {});
  const cards = new Map();
  const look = async () => {
    try {
      const { data } = await get("/v1/batches");
      for (const batch of data) {
        const fresh = card(batch);
        const old = cards.get(batch.id);
        if (old?.state === fresh.state) continue; // its opened rows stay open
        if (old) old.replaceWith(fresh);
        else list.append(fresh);
        cards.set(batch.id, fresh);
      }
      if (!data.length) list.replaceChildren(h("p", { class: "empty" }, t("batches.none")));
      else list.querySelector(":scope > .empty")?.remove();
    } catch (error) {
      list.replaceChildren(problem(error));
      cards.clear();
    }
  };
  const start = h("button", { type: "button", class: "main" }, t("batches.start"));
  start.addEventListener("click", async () => {
    said.replaceChildren();
    if (!file.files.length) {
      said.replaceChildren(problem(new Error(t("batches.file.none"))));
      return;
    }
    start.disabled = true;
    try {
      const form = new FormData();
      form.append("purpose", "batch");
      form.append("file", file.files[0]);
      const uploaded = await upload("/v1/files", form);
      await post("/v1/batches", { input_file_id: uploaded.id, endpoint: endpoint.value, completion_window: "24h" });
      await look();
    } catch (error) {
      said.replaceChildren(problem(error));
    } finally {
      start.disabled = false;
    }
  });
  body.append(h("div", { class: "pair" }, labelled(t("batches.file"), file, t("batches.file.hint")), labelled(t("batches.endpoint"), endpoint)),
    h("div", { class: "row" }, start), said, h("h2", {}, t("batches.jobs")), list);
  return every(POLL_MS, look);
}
