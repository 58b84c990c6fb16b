// Begins in the file that `eidolon report --html` writes; its data stand in the file.

import {reportView} from "./report_view.js";

const {title, node} = reportView(JSON.parse(document.getElementById("data").textContent));
document.title = `${title} – Eidolon`;
document.getElementById("main").replaceChildren(node);
