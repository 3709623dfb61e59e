// The page: which models there are, and the one that is looked at. Whatever a model or an answer brings is put into
// the page as text, by `textContent`; nothing here reads text as HTML.
import { element } from "./elements.js";
import { makeForm } from "./form.js";
import { noteOwn, watch } from "./live.js";

const $ = (id) => document.getElementById(id);
let token = null; // in memory only
let models = [];
let picture = null; // the URL of the graph that is shown

class Unauthorized extends Error {}

async function ask(path, options = {}) {
  const headers = { ...options.headers, ...(token === null ? {} : { Authorization: `Bearer ${token}` }) };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (answer.status === 401) throw new Unauthorized(await errorOf(answer));
  return answer;
}

async function errorOf(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `${answer.status} ${answer.statusText}`;
  }
}

function complain(error) {
  $("page-error").textContent = error.message;
  $("page-error").hidden = false;
}

function askForToken(error) {
  if (token !== null) complain(error);
  token = null;
  for (const id of ["model", "live"]) $(id).hidden = true;
  $("models").replaceChildren();
  $("token-form").hidden = false;
  $("token").focus();
}

async function start() {
  $("page-error").hidden = true;
  try {
    const answer = await ask("page/data/models");
    if (!answer.ok) throw new Error(await errorOf(answer));
    models = await answer.json();
  } catch (error) {
    return error instanceof Unauthorized ? askForToken(error) : complain(error);
  }
  $("token-form").hidden = true;
  $("token").value = "";
  $("models").replaceChildren(...models.map(choice));
  $("live").hidden = false;
  choose(models.find((model) => addressOf(model) === location.hash) ?? models[0]);
  watch(async () => (await ask("page/data/counts")).json());
}

function choice(model) {
  const button = element("button", { type: "button", textContent: titleOf(model) });
  button.addEventListener("click", () => {
    history.replaceState(null, "", addressOf(model));
    choose(model);
  });
  return button;
}

const addressOf = (model) => `#${encodeURIComponent(model.name)}/${encodeURIComponent(model.version)}`;
const isAlone = (model) => models.filter((other) => other.name === model.name).length === 1;
const titleOf = (model) => (isAlone(model) ? model.name : `${model.name}, version ${model.version}`);

function choose(model) {
  models.forEach((other, index) => $("models").children[index].setAttribute("aria-current", String(other === model)));
  if (picture !== null) URL.revokeObjectURL(picture);
  picture = null;
  $("model").hidden = false;
  if (model === undefined) return $("model").replaceChildren(element("p", { textContent: "This server has no models." }));
  $("model").replaceChildren(element("h2", { textContent: titleOf(model) }), ...partsOf(model));
}

function partsOf(model) {
  if (model.state !== "READY") {
    return [element("p", { className: "error", textContent: `${model.state}: ${model.reason}` })];
  }
  const parts = [element("code", { id: "signature", textContent: model.signature })];
  if (Object.keys(model.metadata).length) {
    parts.push(element("pre", { id: "metadata", textContent: JSON.stringify(model.metadata, null, 2) }));
  }
  parts.push(element("h3", { textContent: "Request" }));
  parts.push(model.newest ? requestForm(model) : element("p", { textContent: "The form calls the newest version." }));
  parts.push(element("h3", { textContent: "Graph" }), graphOf(model));
  const text = element("pre", { id: "graph-text", textContent: model.graph, tabIndex: 0 });
  return [...parts, element("details", {}, element("summary", { textContent: "The graph as text" }), text)];
}

function requestForm(model) {
  const form = makeForm(model.inputs);
  const send = element("button", { type: "submit", textContent: "Run" });
  const said = element("p", { id: "said", className: "hint" });
  said.setAttribute("role", "status");
  const output = element("pre", { id: "output", hidden: true, tabIndex: 0 });
  output.setAttribute("aria-label", "Answer");
  const whole = element("form", { id: "request", noValidate: true }, ...form.fields, send, said, output);
  whole.addEventListener("submit", async (event) => {
    event.preventDefault();
    output.hidden = true;
    said.className = "hint";
    send.disabled = true;
    try {
      const body = await form.body();
      said.textContent = "Runs …";
      await run(model, body, said, output);
    } catch (error) {
      if (error instanceof Unauthorized) return askForToken(error);
      said.className = "error";
      said.textContent = error.message;
    } finally {
      send.disabled = false;
    }
  });
  return whole;
}

async function run(model, body, said, output) {
  const begun = performance.now();
  const headers = { "Content-Type": "application/json" };
  const answer = await ask(`v1/${encodeURIComponent(model.name)}`, { method: "POST", headers, body });
  if (!answer.ok) throw new Error(await errorOf(answer));
  const text = await answer.text();
  const took = performance.now() - begun;
  noteOwn(took);
  said.textContent = `${answer.status} in ${took.toFixed(1)} ms`;
  const most = 200_000;
  output.textContent = text.length > most ? `${text.slice(0, most)}\n… ${text.length - most} more characters` : text;
  output.hidden = false;
}

// An image runs no script, whatever the SVG holds; it is fetched here because an <img> cannot send the token.
function graphOf(model) {
  const place = element("div", { className: "graph", id: "graph", tabIndex: 0 });
  place.setAttribute("aria-label", "Graph, can be scrolled");
  place.setAttribute("role", "group");
  const path = `page/data/graph/${encodeURIComponent(model.name)}/${encodeURIComponent(model.version)}`;
  ask(path).then(async (answer) => {
    if (!answer.ok) throw new Error(await errorOf(answer));
    const url = URL.createObjectURL(await answer.blob());
    if (!place.isConnected) return URL.revokeObjectURL(url); // another model was chosen meanwhile
    picture = url;
    place.append(element("img", { src: url, alt: `Graph of ${titleOf(model)}; as text below` }));
  }).catch((error) => place.append(element("p", { className: "error", textContent: error.message })));
  return place;
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value;
  start();
});
start();
