// A form made from a signature: a field for each input, and the body of the request as JSON text. What is typed goes
// into the body as it stands, so that large integers keep all their digits.
import { element } from "./elements.js";
import { imageField, isImage } from "./image.js";

const SCALARS = new Set(["int", "float", "any"]);

// A field has its elements, and `json()`: the JSON of its value, or null where it is left out.
export function makeForm(inputs) {
  const made = inputs.map(makeField);
  return {
    fields: made.map((field) => field.group),
    async body() {
      const parts = [];
      for (const [index, field] of made.entries()) {
        const value = await field.json();
        if (value !== null) parts.push(`${JSON.stringify(inputs[index].name)}: ${value}`);
      }
      return `{${parts.join(", ")}}`;
    },
  };
}

function makeField(input, index) {
  const control = controlOf(input);
  control.id = `input-${index}`;
  const label = element("label", { textContent: input.name, htmlFor: control.id });
  const hint = element("p", { className: "hint", id: `hint-${index}`, textContent: hintOf(input) });
  control.setAttribute("aria-describedby", hint.id);
  const group = element("fieldset", {}, label, hint, control);
  const image = isImage(input) ? imageField(input, index) : null;
  if (image) group.append(image.row);
  control.addEventListener("input", () => control.removeAttribute("aria-invalid"));
  const json = async () => (image && (await image.json())) ?? read(input, control);
  return { group, json };
}

function controlOf(input) {
  if (input.kind === "bool") {
    const options = input.required ? ["false", "true"] : ["", "false", "true"];
    return element("select", {}, ...options.map((value) => new Option(value, value)));
  }
  if (SCALARS.has(input.kind)) {
    return element("input", { type: "text", inputMode: "decimal", className: "number", value: input.required ? "0" : "" });
  }
  const isText = input.kind === "str" || input.kind === "strings";
  return element("textarea", { rows: isText ? 3 : 4, spellcheck: isText, value: exampleOf(input) });
}

function hintOf(input) {
  const sizes = (input.shape ?? []).map((size) => size ?? "?").join(", ");
  const kinds = { str: "text", strings: "texts, one a line", tensor: `${input.dtype} [${sizes}], as nested lists` };
  const kind = kinds[input.kind] ?? (SCALARS.has(input.kind) || input.kind === "bool" ? input.kind : `${input.kind}, as JSON`);
  return input.required ? kind : `${kind}; where it is empty, ${JSON.stringify(input.default)} is used`;
}

// Zeros of the smallest size that a tensor may have; nothing where that is more than a person would read.
function exampleOf(input) {
  if (input.kind !== "tensor" || !input.required) return "";
  const sizes = input.shape.map((size) => (typeof size === "number" ? size : 1));
  if (sizes.reduce((product, size) => product * size, 1) > 256) return "";
  const zeros = ([first, ...rest]) =>
    first === undefined ? (input.dtype === "bool" ? false : 0) : Array.from({ length: first }, () => zeros(rest));
  return JSON.stringify(zeros(sizes));
}

function read(input, control) {
  const text = control.value;
  if (!input.required && text === "") return null;
  if (input.kind === "str") return JSON.stringify(text);
  if (input.kind === "strings") return JSON.stringify(text === "" ? [] : text.replace(/\n$/, "").split("\n"));
  try {
    JSON.parse(text);
  } catch (error) {
    control.setAttribute("aria-invalid", "true");
    control.focus();
    throw new Error(`input '${input.name}': what is typed is no JSON: ${error.message}`);
  }
  return text;
}
