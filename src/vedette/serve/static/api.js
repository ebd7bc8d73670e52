// Calls to the server that sent this page. The key stays in this tab.

const KEY = "vedette-key";

export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

function headers(more = {}) {
  return key.get() ? { ...more, Authorization: `Bearer ${key.get()}` } : more;
}

async function checked(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("unreachable", 0);
  }
  if (response.ok) return response;
  let message = `${response.status} ${response.statusText}`;
  try {
    message = (await response.json()).error.message;
  } catch {
    // no body in the form of an error: the status has to do
  }
  throw new Problem(message, response.status);
}

export async function get(path, signal) {
  return (await checked(path, { headers: headers(), signal })).json();
}

export async function text(path) {
  return (await checked(path, { headers: headers() })).text();
}

export async function post(path, body, signal) {
  const options = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body), signal };
  return (await checked(path, options)).json();
}

export async function upload(path, form) {
  return (await checked(path, { method: "POST", headers: headers(), body: form })).json();
}

// Events of a stream, as they come; ends at [DONE]. Raises `Problem` for an error within it.
export async function* stream(path, body, signal) {
  const options = { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify({ ...body, stream: true }), signal };
  const reader = (await checked(path, options)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = event.slice(6);
      if (data === "[DONE]") return;
      const told = JSON.parse(data);
      if (told.error) throw new Problem(told.error.message, 200);
      yield told;
    }
  }
}
