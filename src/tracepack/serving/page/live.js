// Latency and throughput while the page is open: those of its own requests, and the server's counts from all clients.
const EVERY = 2000; // ms between two looks at the server's counts
const KEPT = 500; // requests of this page
const own = [];
let before = new Map(); // the last look at each model
let looked = null; // when that was; null before the first one
let timer = null;

const $ = (id) => document.getElementById(id);
const ms = (value) => `${value.toFixed(1)} ms`;

export function noteOwn(took) {
  own.push(took);
  $("own-count").textContent = String(Number($("own-count").textContent) + 1);
  if (own.length > KEPT) own.shift();
  const sorted = [...own].sort((a, b) => a - b);
  const at = (share) => ms(sorted[Math.ceil(share * sorted.length) - 1]);
  $("own-last").textContent = ms(took);
  $("own-median").textContent = at(0.5);
  $("own-high").textContent = at(0.95);
}

// Asks `counts` again and again while the page is visible; an error ends it, and `watch` begins anew.
export function watch(counts) {
  clearTimeout(timer);
  const look = async () => {
    try {
      if (!document.hidden) show(await counts());
    } catch {
      $("live-title").textContent = "Live (the server does not answer)";
      looked = null;
    }
    timer = setTimeout(look, EVERY);
  };
  look();
}

function show(rows) {
  if (!Array.isArray(rows)) throw new Error("no counts");
  $("live-title").textContent = "Live";
  const now = performance.now();
  const next = new Map();
  const lines = rows.map((row) => {
    const key = JSON.stringify([row.name, row.version]);
    const done = row.answered + row.failed;
    const last = before.get(key) ?? { done: 0, seconds: 0, latency: "–" }; // a model has no counts before its first request
    const count = looked === null ? 0 : Math.max(0, done - last.done); // a server that started anew counts from zero
    const rate = looked === null ? "–" : ((1000 * count) / (now - looked)).toFixed(1);
    const latency = count > 0 ? ms((1000 * (row.seconds - last.seconds)) / count) : last.latency;
    next.set(key, { done, seconds: row.seconds, latency });
    return line([row.name, row.version, row.answered, row.failed, row.pending, rate, latency]);
  });
  before = next;
  looked = now;
  $("counts").replaceChildren(...lines);
}

function line(cells) {
  const made = document.createElement("tr");
  for (const cell of cells) made.insertCell().textContent = String(cell);
  return made;
}
