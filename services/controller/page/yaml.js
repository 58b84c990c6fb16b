// JSON documents as YAML that reads back as the same: texts are quoted where they need it.

const PLAIN = /^[A-Za-z_/.@][A-Za-z0-9_/.@+=-]*$/;
const WORDS = /^(?:true|false|yes|no|on|off|null|y|n|\.nan|\.inf)$/i;

const scalar = (value) =>
  typeof value === "string" && PLAIN.test(value) && !WORDS.test(value) ? value : JSON.stringify(value);

function lines(value, indent) {
  const pad = " ".repeat(indent);
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${pad}[]`];
    if (value.every((item) => item === null || typeof item !== "object")) {
      return [`${pad}[${value.map(scalar).join(", ")}]`];
    }
    return value.flatMap((item) => {
      const [first, ...rest] = lines(item, indent + 2);
      return [`${pad}- ${first.trimStart()}`, ...rest];
    });
  }
  if (value === null || typeof value !== "object") return [pad + scalar(value)];
  const entries = Object.entries(value);
  if (entries.length === 0) return [`${pad}{}`];
  return entries.flatMap(([key, item]) => {
    const inner = lines(item, indent + 2);
    const short = inner.length === 1 && (item === null || typeof item !== "object" || /^\s*[[{]/.test(inner[0]));
    return short ? [`${pad}${scalar(key)}: ${inner[0].trimStart()}`] : [`${pad}${scalar(key)}:`, ...inner];
  });
}

export const toYaml = (document) => lines(document, 0).join("\n");
