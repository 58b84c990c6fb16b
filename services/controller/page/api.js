// The REST API of the server that this page came from.

const SESSION = "session";

/** The token of a session, which expires: of this tab alone, never in a cookie, a query or a referrer. */
const session = {
  get: () => sessionStorage.getItem(SESSION),
  set: (value) => sessionStorage.setItem(SESSION, value),
};

/** `eidolon link` prints a link with a code behind '#', which works once. It is taken out of the address and becomes
 * a session. Rejects with a Problem when it works no more. */
export async function takeLogin() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has("login") && !given.has("token")) return;
  history.replaceState(null, "", location.pathname + "#/");
  if (given.has("login")) await openSession({body: JSON.stringify({code: given.get("login")})});
}

/** A session for the server's own token. Where a server opens none, on Kubernetes, the token itself stays in the tab. */
export async function giveToken(token) {
  try {
    await openSession({body: "{}", token});
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    session.set(token);
  }
}

async function openSession(options) {
  const answer = await ask("POST", "/api/v1/sessions", {...options, type: "application/json"});
  session.set((await answer.json()).token);
}

/** A refusal: problem+json of RFC 9457, or what came instead of it. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail || document.title || `the server answered ${status}`);
    this.status = status;
    this.errors = Array.isArray(document.errors) ? document.errors : [];
  }
}

async function send(method, path, options = {}) {
  try {
    return await ask(method, path, {...options, token: session.get()});
  } catch (problem) {
    if (problem.status === 401) dispatchEvent(new CustomEvent("locked", {detail: problem.message}));
    throw problem;
  }
}

async function ask(method, path, {body, type, signal, token}) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (type) headers["Content-Type"] = type;
  let answer;
  try {
    answer = await fetch(path, {method, headers, body, signal});
  } catch (error) {
    if (signal && signal.aborted) throw error;
    throw new Problem(0, {detail: "the server does not answer"});
  }
  if (answer.ok) return answer;
  let document = {};
  try {
    document = JSON.parse(await answer.text());
  } catch {
    // A proxy may answer in its own words.
  }
  throw new Problem(answer.status, document);
}

export const getJson = async (path, options) => (await send("GET", path, options)).json();
export const getAnswer = (path, options) => send("GET", path, options);
export const postYaml = async (path, body) =>
  (await send("POST", path, {body, type: "application/yaml"})).json();
export const patchJson = async (path, change) => (await send("PATCH", path,
  {body: JSON.stringify(change), type: "application/merge-patch+json"})).json();
export const remove = async (path) => (await send("DELETE", path)).json();

/** All objects of a list, page by page. */
export async function getAll(path) {
  const items = [];
  for (let next = "0"; next;) {
    const page = await getJson(`${path}?continue=${next}`);
    items.push(...page.items);
    next = page.metadata.continue;
  }
  return items;
}

const pathOf = (resource) => (namespace, name = "") =>
  `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}` + (name ? `/${encodeURIComponent(name)}` : "");
export const jobPath = pathOf("simulationjobs");
export const sweepPath = pathOf("simulationsweeps");
/** Two jobs beside each other; keys are "namespace/name". */
export const comparisonPath = (one, other) =>
  `${jobPath(...one.split("/"))}/comparison/${other.split("/").map(encodeURIComponent).join("/")}`;

/** Server-sent events. EventSource sends no headers, so the stream is read here. */
export async function* events(path, signal) {
  const answer = await send("GET", path, {signal});
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = [];
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    pending.push(value);
    if (!value.includes("\n")) continue;
    const blocks = pending.join("").split("\n\n");
    pending = [blocks.pop()];
    for (const block of blocks) {
      const fields = {event: "message", data: ""};
      for (const line of block.split("\n")) {
        const colon = line.indexOf(":");
        if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).trimStart();
      }
      if (fields.data) yield {event: fields.event, data: JSON.parse(fields.data)};
    }
  }
}

/** Calls `take` for each event, again after every break, until `signal` ends it or the stream
 * says that nothing follows. `state` learns "live", "waiting" or a Problem. */
export async function follow(path, signal, take, state) {
  for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 10000)) {
    try {
      for await (const {event, data} of events(path, signal)) {
        state("live");
        wait = 500;
        if (event === "end" && data.reason !== "gone") return take(event, data);
        if (event !== "end") take(event, data);
      }
    } catch (error) {
      if (signal.aborted) return;
      state(error);
      if (!mayPass(error)) return;
    }
    await pause(wait, signal);
  }
}

/** Milliseconds, unless `signal` ends them. */
export const pause = (wait, signal) => new Promise((done) => {
  setTimeout(done, wait);
  signal.addEventListener("abort", done, {once: true});
});

/** Whether a request that failed may be answered when it is made again. */
export const mayPass = (problem) => ![401, 403, 404, 422].includes(problem.status);
