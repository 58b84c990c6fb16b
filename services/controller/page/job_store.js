// The jobs of the list: one stream tells of all of them, and of what changes.

import {follow} from "./api.js";

export const keyOf = (job) => `${job.metadata.namespace}/${job.metadata.name}`;

const NAMESPACE = "eidolon.namespace";

export class JobStore extends EventTarget {
  jobs = new Map();
  state = "connecting"; // "connecting", "live", or a Problem.
  #stream = null;
  #readers = 0;

  constructor() {
    super();
    // A tab that nobody sees keeps no connection: a browser has only a few for one server.
    document.addEventListener("visibilitychange", () => this.#settle());
  }

  /** The only namespace that is asked for; empty: all. */
  get namespace() {
    return localStorage.getItem(NAMESPACE) || "";
  }
  set namespace(value) {
    localStorage.setItem(NAMESPACE, value);
    this.#close();
    this.jobs.clear();
    this.#settle();
  }

  /** Keeps the stream open until the function that it answers is called. */
  open() {
    ++this.#readers;
    this.#settle();
    return () => {
      --this.#readers;
      this.#settle();
    };
  }

  #close() {
    if (this.#stream) this.#stream.abort();
    this.#stream = null;
  }

  #settle() {
    const wanted = this.#readers > 0 && document.visibilityState !== "hidden";
    if (!wanted) return this.#close();
    if (this.#stream) return;
    this.#stream = new AbortController();
    const path = this.namespace
      ? `/api/v1/watch/namespaces/${encodeURIComponent(this.namespace)}/simulationjobs`
      : "/api/v1/watch/simulationjobs";
    let first = true;
    follow(path, this.#stream.signal, (event, data) => {
      this.#take(data, first);
      first = false;
    }, (state) => {
      // After a break the server begins anew.
      if (state !== "live") first = true;
      this.state = state;
      if (state !== "live") this.dispatchEvent(new Event("change"));
    });
  }

  #take({changed, gone}, first) {
    if (first) this.jobs.clear();
    for (const job of changed) this.jobs.set(keyOf(job), job);
    for (const key of gone) this.jobs.delete(key);
    this.dispatchEvent(new Event("change"));
  }
}

export const jobStore = new JobStore();
