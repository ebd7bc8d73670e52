// Every view by its name, and the sections that they stand in.

import { batches } from "./views/batches.js";
import { chat } from "./views/chat.js";
import { classify } from "./views/classify.js";
import { compress } from "./views/compress.js";
import { decide } from "./views/decide.js";
import { extract } from "./views/extract.js";
import { guard } from "./views/guard.js";
import { ledger } from "./views/ledger.js";
import { live } from "./views/live.js";
import { machine } from "./views/machine.js";
import { redact } from "./views/redact.js";
import { rerank } from "./views/rerank.js";
import { task } from "./views/task.js";

export const VIEWS = { decide, classify, rerank, redact, extract, guard, compress, chat, task, batches, live, machine, ledger };

export const SECTIONS = [
  ["dispatch", ["decide", "classify", "rerank", "redact"]],
  ["constrain", ["extract", "chat", "task"]],
  ["keep", ["guard", "compress"]],
  ["work", ["batches", "live", "machine", "ledger"]],
];
