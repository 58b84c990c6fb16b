// Begins in the file that `eidolon report --html` writes; its data stand in the file.

import {reportView} from "./report_view.js";
import {shown} from "./text.js";

const {title, node} = reportView(JSON.parse(document.getElementById("data").textContent));
document.title = `${shown(title)} – Eidolon`;
document.getElementById("main").replaceChildren(node);
