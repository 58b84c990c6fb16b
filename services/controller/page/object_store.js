// The objects of a list, jobs or sweeps: one stream tells of all of them, and of what changes.

import {follow} from "./api.js";

export const keyOf = (object) => `${object.metadata.namespace}/${object.metadata.name}`;

const NAMESPACE = "eidolon.namespace";
const stores = [];

export class ObjectStore extends EventTarget {
  objects = new Map();
  state = "connecting"; // "connecting", "live", or a Problem.
  #resource;
  #stream = null;
  #readers = 0;

  constructor(resource) {
    super();
    this.#resource = resource;
    stores.push(this);
    // A tab that nobody sees keeps no connection: a browser has only a few for one server.
    document.addEventListener("visibilitychange", () => this.#settle());
  }

  /** Whether somebody looks at it. */
  get isOpen() {
    return this.#readers > 0;
  }

  /** The only namespace that is asked for, by every list; empty: all. */
  get namespace() {
    return localStorage.getItem(NAMESPACE) || "";
  }
  set namespace(value) {
    localStorage.setItem(NAMESPACE, value);
    for (const store of stores) store.#restart();
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

  #restart() {
    this.#close();
    this.objects.clear();
    this.#settle();
  }

  #close() {
    if (this.#stream) this.#stream.abort();
    this.#stream = null;
  }

  #settle() {
    const wanted = this.isOpen && document.visibilityState !== "hidden";
    if (!wanted) return this.#close();
    if (this.#stream) return;
    this.#stream = new AbortController();
    const path = this.namespace
      ? `/api/v1/watch/namespaces/${encodeURIComponent(this.namespace)}/${this.#resource}`
      : `/api/v1/watch/${this.#resource}`;
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
    if (first) this.objects.clear();
    for (const object of changed) this.objects.set(keyOf(object), object);
    for (const key of gone) this.objects.delete(key);
    this.dispatchEvent(new Event("change"));
  }
}

export const jobStore = new ObjectStore("simulationjobs");
export const sweepStore = new ObjectStore("simulationsweeps");
