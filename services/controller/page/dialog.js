// A window above the page that the keyboard closes with Escape. It leaves nothing behind.

import {append, el} from "./element.js";

/** Opens it and answers the function that closes it. `make` of that function: the content. */
export function openDialog(title, make) {
  const before = document.activeElement;
  const node = el("dialog", {"aria-label": title});
  const close = () => node.close();
  node.addEventListener("close", () => {
    node.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  append(node, [el("div", {class: "bar"}, el("h2", {}, title),
    el("button", {type: "button", class: "quiet", onclick: close}, "Close")), make(close)]);
  document.body.append(node);
  node.showModal();
  return close;
}
