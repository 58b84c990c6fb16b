// Opens a job's timeline in Perfetto's viewer: its page, in a window of its own, takes the file from this one and sends
// nothing of it anywhere. This page itself asks no other server.

import {getAnswer, pause} from "./api.js";

const VIEWER = "https://ui.perfetto.dev";
const ASK_MS = 100;
const WAIT_MS = 60000; // Until the viewer answers.

/** Resolves once the viewer in that window listens: it answers PING with PONG. */
async function listens(viewer, signal) {
  const heard = new Promise((done) => addEventListener("message", (event) => {
    if (event.source === viewer && event.origin === VIEWER && event.data === "PONG") done();
  }, {signal}));
  // Before the viewer is there the window is of no other origin, and the question says nothing.
  const asks = setInterval(() => viewer.postMessage("PING", "*"), ASK_MS);
  const late = pause(WAIT_MS, signal).then(() => Promise.reject(new Error(
    `${VIEWER} does not answer: save the timeline and open it there`)));
  try {
    await Promise.race([heard, late]);
  } finally {
    clearInterval(asks);
  }
}

/** `path`: of the timeline; `title`: what the viewer calls it. To be called by a click, or the browser opens no window. */
export async function openTimeline(path, title) {
  const viewer = open(VIEWER);
  if (!viewer) throw new Error("the browser opens no window: save the timeline and open it in a viewer");
  const done = new AbortController();
  try {
    const [buffer] = await Promise.all([getAnswer(path).then((answer) => answer.arrayBuffer()), listens(viewer, done.signal)]);
    viewer.postMessage({perfetto: {buffer, title, keepApiOpen: true}}, VIEWER, [buffer]);
  } finally {
    done.abort();
  }
}
