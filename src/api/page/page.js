// Shows runs and their warnings, as the API of this address has them. Whatever comes from telemetry is put in as text, never as
// markup. Two places: `#` is the list (`#?status=failed` a part of it), `#run=ID` one run.

const EVERY_MS = 2000;
const STATUSES = ["likely_stuck", "warning", "failed", "blind", "healthy"];
const main = document.getElementById("main");
const state = document.getElementById("state");

/** A refusal, with its HTTP status; 0 where nobody answered. */
class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(path) {
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(path, { headers, cache: "no-store" });
  } catch {
    throw new Refused(0, "no daemon answers at this address; is it running?");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Refused(response.status, [body.error, ...(body.reasons ?? [])].join(": "));
  }
  return body;
}

/** An element: its tag and class, what it has, and attributes. Texts become text. */
function element(tag, content = [], attributes = {}) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  made.classList.add(...classes);
  made.append(...[content].flat().filter((part) => part !== null && part !== undefined && part !== ""));
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(key, value);
  }
  return made;
}

const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
const money = (usd) => (usd === 0 ? "$0" : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`);
const words = (name) => name.replaceAll("_", " ");

function ago(time) {
  if (!time) return "at an unknown time";
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit} ago`;
  }
  return `${seconds} s ago`;
}

/** A sentence of a warning, in which names stand between backticks. */
const sentence = (text) => text.split("`").map((part, at) => (at % 2 === 1 ? element("code", part) : part));

const since = (time) => element("span", ago(time), { title: time ?? "" });
const isOpen = (warning) => warning.state === "open";
const link = (run) => element("a.id", run.run_id, { href: `#run=${encodeURIComponent(run.run_id)}` });

function row(run) {
  // The gravest comes first.
  const warning = run.warnings.find(isOpen);
  const said = warning && element(`span.${warning.severity}`, `${warning.rule} ×${warning.count}`);
  return element("tr", [
    element(`td.status.${run.status}`, words(run.status)),
    element("td.number", String(run.score)),
    element("td", [link(run), said ? element("div", said) : null]),
    element("td", run.agents.join(", ")),
    element("td.number", run.tool_calls.toLocaleString("en")),
    element("td.number", run.tokens.toLocaleString("en")),
    element("td.number", money(run.cost_usd)),
    element("td.number", since(run.last_seen)),
  ]);
}

async function list(query) {
  const status = query.get("status") ?? "";
  const parameters = new URLSearchParams({ limit: 50, status, page_token: query.get("page_token") ?? "" });
  const page = await ask(`v1/runs?${parameters}`);
  const part = (name, text) =>
    element("a", text, { href: name ? `#?status=${name}` : "#", "aria-current": name === status ? "page" : null });
  const shown = [element("nav", [part("", "all runs"), ...STATUSES.map((name) => part(name, words(name)))])];
  const heads = ["Status", "Score", "Run", "Agents", "Calls", "Tokens", "Cost", "Last seen"];
  const numbers = ["Score", "Calls", "Tokens", "Cost", "Last seen"];
  const head = heads.map((name) => element(numbers.includes(name) ? "th.number" : "th", name));
  if (page.runs.length > 0) {
    const table = element("table", [element("thead", element("tr", head)), element("tbody", page.runs.map(row))]);
    shown.push(element("div.wide", table));
  } else if (!page.next_page_token) {
    const none = status ? "No such runs." : "No runs yet. In the shell from which an agent is started, ";
    shown.push(element("p", status ? none : [none, element("code", "eddy doctor"), " says whether its telemetry comes here."]));
  }
  if (page.next_page_token) {
    const older = new URLSearchParams({ status, page_token: page.next_page_token });
    shown.push(element("p", element("a", "older runs", { href: `#?${older}` })));
  }
  return shown;
}

function facts(pairs) {
  const known = pairs.filter(([, value]) => value);
  return element("dl", known.map(([name, value]) => element("div", [element("dt", name), element("dd", value)])));
}

const back = () => element("nav", element("a", "← all runs", { href: "#" }));

function card(warning) {
  const where = [warning.tool && `tool ${warning.tool}`, warning.agent && `agent ${warning.agent}`];
  const spent = warning.tokens > 0 ? `${counted(warning.tokens, "token")}, ${money(warning.cost_usd)}` : "";
  const ended = isOpen(warning) ? "" : `${warning.state}, `;
  const head = [`${warning.rule} ×${warning.count} `, element("span.faint", [...where, spent].filter(Boolean).join(" · "))];
  const spans = element("details", [
    element("summary", `${counted(warning.evidence.length, "span")} as evidence`),
    element("p.id", warning.evidence.join(" ")),
  ]);
  const times = [`${ended}${warning.severity}, −${warning.penalty}, `, since(warning.last_seen), " · why: "];
  return element(`article.${warning.severity}.${warning.state}`, [
    element("h2", head),
    element("p", sentence(warning.what_happened)),
    element("p", sentence(warning.why_it_matters)),
    element("p", [element("strong", "Try: "), ...sentence(warning.what_to_try)]),
    element("p.faint", [...times, element("code", `eddy explain ${warning.id}`)]),
    spans,
  ]);
}

async function one(runId) {
  const path = runId.split("/").map(encodeURIComponent).join("/");
  const run = await ask(`v1/runs/${path}`);
  const warnings = run.warnings.sort((one, other) => isOpen(other) - isOpen(one));
  const saved = run.skipped_calls > 0 ? counted(run.skipped_calls, "call") : "";
  return [
    back(),
    element("h1", run.run_id),
    element("p", [
      element(`span.status.${run.status}`, words(run.status)),
      ` · score ${run.score} of 100 · ${run.ended === "open" ? "goes on" : `ended: ${run.ended}`}`,
    ]),
    facts([
      ["Agents", run.agents.join(", ")],
      ["Service", run.service],
      ["Session", run.session_id === run.run_id ? "" : run.session_id],
      ["Calls of tools", run.tool_calls.toLocaleString("en")],
      ["Calls of models", run.model_calls.toLocaleString("en")],
      ["Tokens", run.tokens.toLocaleString("en")],
      ["Cost", money(run.cost_usd)],
      ["Refused by the guard", saved],
      ["Lowest score", String(run.lowest_score)],
      ["First seen", since(run.first_seen)],
      ["Last seen", since(run.last_seen)],
    ]),
    ...(warnings.length > 0 ? warnings.map(card) : [element("p", "No warnings.")]),
    ...run.notes.map((note) => element("p.faint", note)),
  ];
}

function askForToken() {
  const field = element("input", [], { type: "password", name: "token", autocomplete: "off", required: "", "aria-label": "Token" });
  const form = element("form", [
    element("p", sessionStorage.getItem("token") ? "This token is not known here." : "This address asks for a token."),
    element("p", [field, " ", element("button", "Show")]),
    element("p.faint", "One that the daemon's configuration names (service.api.auth). It is kept until this tab is closed."),
  ]);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", field.value.trim());
    show();
  });
  return form;
}

/** What stands in an address, whose end may have been cut off. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

let asked = 0;

async function show() {
  const mine = ++asked;
  const place = location.hash.slice(1);
  const runId = place.startsWith("run=") ? decoded(place.slice(4)) : null;
  let shown;
  let said = "";
  try {
    shown = await (runId === null ? list(new URLSearchParams(place)) : one(runId));
    const ready = await ask("readyz").catch((refused) => refused);
    said = ready instanceof Refused ? ready.message : "";
  } catch (error) {
    if (error.status === 401) shown = [askForToken()];
    else if (error.status === 404) shown = [back(), element("p", sentence(error.message))];
    else said = error.message;
  }
  // Another place may have been asked for meanwhile.
  if (mine !== asked) return;
  document.title = runId === null ? "Eddy" : `${runId} · Eddy`;
  state.replaceChildren(said ? element("span.error", said) : "");
  // What somebody has marked, to copy it, stays as it is.
  if (!shown || (place === main.dataset.place && getSelection().type === "Range")) return;
  const unfolded = [...main.querySelectorAll("details")].map((details) => details.open);
  main.replaceChildren(...shown);
  if (place === main.dataset.place) {
    main.querySelectorAll("details").forEach((details, at) => (details.open = unfolded[at] ?? false));
  } else {
    scrollTo(0, 0);
  }
  main.dataset.place = place;
}

addEventListener("hashchange", show);
document.addEventListener("visibilitychange", () => document.hidden || show());
setInterval(() => document.hidden || main.querySelector("form") || show(), EVERY_MS);
show();
