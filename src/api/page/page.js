// Shows runs and their warnings, as the API of this address has them. Whatever comes from telemetry is put in as text, never as
// markup. Two places: `#` is the list (`#?status=failed&agent=NAME` a part of it), `#run=ID` one run.
//
// The page listens to the stream of alerts and looks again when one is about what it shows. What no alert tells of (a run that
// begins, calls, tokens, an end) it asks for every few seconds. A tab that nobody sees neither listens nor asks.

/** Between two looks at what no alert tells of. */
const EVERY_MS = 5000;
/** Between two looks because of alerts, of which there may be thousands. */
const ALERTED_MS = 500;
/** Before the stream is asked for again. */
const AGAIN_MS = 2000;
/** Longest wait for an answer. */
const ANSWER_MS = 10000;
/** After so long without an answer, what is shown is not said to be live. */
const LATE_MS = 3000;
/** Longest silence of the stream, which otherwise has a comment every 15 seconds. */
const SILENCE_MS = 40000;
/** Runs on a page of the list, and as many of those that are likely stuck; of these, so many come before all others. */
const RUNS_ASKED = 50;
const STUCK_SHOWN = 8;
/** How often the list asks on while no run passes its filter: a thousand runs are looked at for each answer. */
const LOOKS_MAX = 10;
/** Warnings in runs that the list does not show: so many are remembered, and so many shown. */
const ELSEWHERE_KEPT = 100;
const ELSEWHERE_SHOWN = 5;
/** For how long such a warning is one of just now. */
const ELSEWHERE_MS = 300000;
/** How often the newest alert is told to those who do not see the page. */
const SPOKEN_MS = 5000;
/** For so long after the last move of somebody who is at a table, its rows stay where they are. */
const HELD_MS = 30000;
/** Agents of a run that are named in a line; the page of the run has them all below. */
const AGENTS_SHOWN = 3;

const STATUSES = ["likely_stuck", "warning", "failed", "blind", "healthy"];
const IDS = ["main", "state", "finder", "forget", "spoken", "held"];
const [main, state, finder, forget, spoken, held] = IDS.map((id) => document.getElementById(id));

/** A refusal, with its HTTP status; 0 where nobody answered. */
class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function open(path, signal) {
  const token = sessionStorage.getItem("token");
  // A browser sends no other signs, and no token has them: quotes that a chat has put around it, for one.
  if (token && !/^[\x21-\x7e]+$/.test(token)) throw new Refused(401, "this is no token");
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  let response;
  try {
    response = await fetch(path, { headers, signal, cache: "no-store" });
  } catch (error) {
    const isSlow = error.name === "TimeoutError";
    throw new Refused(0, isSlow ? "the daemon does not answer" : "no daemon answers at this address");
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => ({}));
  const said = [body.error ?? `the answer is HTTP ${response.status}`, ...(body.reasons ?? [])];
  throw new Refused(response.status, said.join(": "));
}

async function ask(path) {
  const response = await open(path, AbortSignal.timeout(ANSWER_MS));
  return response.json().catch(() => {
    throw new Refused(0, "the answer broke off, or is none of Eddy's");
  });
}

/** Signs that nobody sees, or that turn the direction of what is read: a name with them would pass for another. */
const UNSEEN = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;
const clean = (text) => text.replace(UNSEEN, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);

/** An element: its tag and class, what it has, and attributes. Texts become text. */
function element(tag, content = [], attributes = {}) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  made.classList.add(...classes);
  const parts = [content].flat(Infinity).filter((part) => part !== null && part !== undefined && part !== "");
  made.append(...parts.map((part) => (typeof part === "string" ? clean(part) : part)));
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(key, value);
  }
  return made;
}

const isAlike = (one, other) => one.nodeName === other.nodeName && one.dataset?.key === other.dataset?.key;

/** Gives a parent these parts and leaves alone what is alike: the focus, what is marked, unfolded or scrolled stay. */
function fill(parent, parts) {
  parts.forEach((part, at) => {
    const next = parent.childNodes[at] ?? null;
    const there = [...parent.childNodes].slice(at).find((node) => isAlike(node, part));
    if (!there) parent.insertBefore(part, next);
    else if (there !== next) move(parent, there, next);
    if (there instanceof Element) become(there, part);
    else if (there && there.data !== part.data) there.data = part.data;
  });
  while (parent.childNodes.length > parts.length) parent.lastChild.remove();
}

/** Elsewhere among the children of a parent; a browser that knows how leaves it the focus and how far it is scrolled. */
const move = (parent, node, next) => (parent.moveBefore ? parent.moveBefore(node, next) : parent.insertBefore(node, next));

function become(old, made) {
  for (const { name } of [...old.attributes]) {
    if (name !== "open" && !made.hasAttribute(name)) old.removeAttribute(name);
  }
  for (const { name, value } of made.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  fill(old, [...made.childNodes]);
}

/** Gives what is shown these parts. What had the focus has it again; where it is gone, the keyboard begins at the top. */
function refill(parts) {
  const focused = document.activeElement;
  const wasWithin = main.contains(focused);
  fill(main, parts);
  if (!wasWithin || main.contains(document.activeElement)) return;
  const next = main.contains(focused) ? focused : main.querySelector("h1");
  next?.focus({ preventScroll: true });
}

/** When somebody last moved within what is shown. */
let movedAt = -HELD_MS;

/** Whether a pointer, or the keyboard, is at a run of the list and may be about to follow it. */
const isAtRuns = () => performance.now() - movedAt < HELD_MS && main.querySelector("tbody:is(:hover, :focus-within) [data-key]");

/** While somebody is at the runs, renews them where they stand and says how many there are besides; whether that was so. */
function holds(parts) {
  const rows = [...element("div", parts).querySelectorAll("tr[data-key]")];
  if (rows.length === 0 || !isAtRuns()) return false;
  const there = new Map([...main.querySelectorAll("tr[data-key]")].map((row) => [row.dataset.key, row]));
  for (const row of rows) if (there.has(row.dataset.key)) become(there.get(row.dataset.key), row);
  const many = rows.filter((row) => !there.has(row.dataset.key)).length;
  held.textContent = `${counted(many, "new run")} · show`;
  held.hidden = many === 0;
  return true;
}

/** Parts with something between each two. */
const joined = (parts, between) => parts.flatMap((part, at) => (at === 0 ? [part] : [between, part]));

/** A name that telemetry gives. In a line with others, the direction in which it is written is its own. */
const name = (text) => element("bdi", text);

/** A number as a terminal shows it: `950`, `12.4k`, `3.1M`. */
function short(number) {
  if (number < 10000) return String(number);
  let [rest, unit] = [number / 1000, 0];
  for (; rest >= 999.95; unit += 1) rest /= 1000;
  return rest.toFixed(1) + "kMGTPE"[unit];
}

const counted = (number, what) => `${short(number)} ${what}${number === 1 ? "" : "s"}`;
const words = (name) => name.replaceAll("_", " ");

function money(usd) {
  if (usd > 0 && usd < 0.00005) return "<$0.0001";
  if (usd >= 1e6) return `$${short(usd)}`;
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
}

function ago(time) {
  if (!time) return "at an unknown time";
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(time)) / 1000));
  for (const [unit, length] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit} ago`;
  }
  return `${seconds} s ago`;
}

/** What a place is headed by; the keyboard begins there. */
const heading = (text) => element("h1", text, { tabindex: "-1" });

/** A sentence of a warning, in which names stand between backticks. */
const sentence = (text) => text.split("`").map((part, at) => (at % 2 === 1 ? element("code", part) : part));

const since = (time) => element("time", ago(time), { datetime: time, title: time });

/** A moment as the terminal shows it, in UTC; its date where that is asked for, or is not today's. */
function moment(time, isDated = time.slice(0, 10) !== new Date().toISOString().slice(0, 10)) {
  return `${isDated ? `${time.slice(0, 10)} ` : ""}${time.slice(11, 19)}Z`;
}

/** A moment, and how long ago that was. */
const when = (time) => (time ? [`${moment(time, true)} (`, since(time), ")"] : since(time));
const isOpen = (warning) => warning.state === "open";
const link = (runId) => element("a.id", runId, { href: `#run=${encodeURIComponent(runId)}` });
const named = (warning) => `${warning.rule} ×${warning.count}`;

/** How grave a warning is, and what it is about. */
function grave(warning) {
  const tool = warning.tool ? [" · ", name(warning.tool)] : [];
  return [element(`span.status.${warning.severity}`, warning.severity), ` ${named(warning)}`, ...tool];
}

/** Names in a line, of which so many are shown. */
function names(all, shown) {
  const line = joined(all.slice(0, shown), ", ");
  return all.length > shown ? [...line, element("span.faint", ` +${all.length - shown} more`)] : line;
}

/** The gravest open warning of a run, and how many more incidents there are. */
function worst(run) {
  const open = run.warnings.filter(isOpen);
  if (open.length === 0) return null;
  const more = new Set(open.map((warning) => warning.incident)).size - 1;
  return element("div", [grave(open[0]), more > 0 ? element("span.faint", ` +${more} more`) : null]);
}

/** Of a run whose telemetry does not show what it did, neither its score nor that it has no warnings says anything. */
const isBlind = (run) => run.status === "blind";

/** What a run cost; nothing where nobody knows the price of its tokens. */
function cost(run) {
  const isKnown = run.cost_usd > 0 || run.unpriced_models.length === 0;
  return isKnown ? money(run.cost_usd) : "";
}

/** Columns, which `more` are left out where there is no room: the page of a run has them, too. */
function head() {
  const columns = ["Status", "Score.number.more", "Run", "Agents.more", "Calls.number.more", "Tokens.number.more", "Cost.number.more"];
  return headOf([...columns, "Last seen.number"]);
}

/** Runs under a title of their own, in a table that they share with others. */
function group(title, runs) {
  const head = title ? element("tr", element("th", title, { colspan: "8", scope: "rowgroup" })) : null;
  return element("tbody", [head, runs.map(row)]);
}

/** The head of a table: the names of its columns, and their classes. */
function headOf(columns) {
  const heads = columns.map((column) => column.split("."));
  const cell = ([title, ...classes]) => element(["th", ...classes].join("."), title, { scope: "col" });
  return element("thead", element("tr", heads.map(cell)));
}

function row(run) {
  const cells = [
    element(`td.status.${run.status}`, words(run.status)),
    element("td.number.more", isBlind(run) ? "–" : String(run.score)),
    element("td.run", [link(run.run_id), worst(run), isBlind(run) ? element("div", run.notes[0]) : null]),
    element("td.agents.more", element("div", run.agents.length > 0 ? names(run.agents.map(name), AGENTS_SHOWN) : "–")),
    element("td.number.more", short(run.tool_calls)),
    element("td.number.more", short(run.tokens)),
    element("td.number.more", cost(run) || "–"),
    element("td.number", since(run.last_seen)),
  ];
  return element("tr", cells, { "data-key": run.run_id });
}

/** Of each run of which the stream has told the gravest alert, that of the newest run last. */
const alerted = new Map();
const SEVERITIES = ["info", "warning", "critical"];

function remember(alert) {
  const before = alerted.get(alert.run_id)?.alert ?? alert;
  const gravity = ({ warning }) => (isOpen(warning) ? SEVERITIES.indexOf(warning.severity) : -1);
  const isOther = before.warning.id !== alert.warning.id;
  alerted.delete(alert.run_id);
  const kept = isOther && gravity(before) >= gravity(alert) ? before : alert;
  // By our own clock: the daemon's may be another.
  alerted.set(alert.run_id, { alert: kept, heardAt: performance.now() });
  if (alerted.size > ELSEWHERE_KEPT) alerted.delete(alerted.keys().next().value);
}

let newest = null;
let telling = 0;

/** Tells a screen reader of the newest alert, when it may be told again. That a warning only grew is no news. */
function tellSoon(alert) {
  if (alert.change === "updated") return;
  newest = alert;
  telling ||= setTimeout(() => {
    telling = 0;
    fill(spoken, [element("span", [`${newest.change}: `, grave(newest.warning), " in ", name(newest.run_id)])]);
  }, SPOKEN_MS);
}

/** Open warnings of which the stream told and that the list does not show. */
function elsewhere(runs) {
  const isNew = ({ alert, heardAt }) => isOpen(alert.warning) && performance.now() - heardAt < ELSEWHERE_MS;
  const isElsewhere = ({ alert }) => !runs.some((run) => run.run_id === alert.run_id);
  const told = [...alerted.values()].filter(isNew).filter(isElsewhere).slice(-ELSEWHERE_SHOWN).reverse();
  if (told.length === 0) return null;
  const line = ({ alert }) => element("li", [grave(alert.warning), " in ", link(alert.run_id), " ", since(alert.at)]);
  return element("aside", ["Just now, in runs that are not on this page:", element("ul", told.map(line))]);
}

/** Where a part of the list is. */
function part(query) {
  const set = Object.entries(query).filter(([, value]) => value);
  return set.length > 0 ? `#?${new URLSearchParams(set)}` : "#";
}

/** An agent, which leads to the runs in which it took part. */
const agentLink = (agent) => element("a", agent, { href: part({ agent }) });

/** The ways to other parts of the list, of which the one that is shown is marked. */
function parts({ status, agent, page_token }) {
  const way = (name, text) => {
    const isHere = name === status && !page_token;
    return element("a", text, { href: part({ status: name, agent }), "aria-current": isHere ? "page" : null });
  };
  const all = agent ? element("a", "of all agents", { href: part({ status }) }) : null;
  return element("nav", [way("", "all runs"), ...STATUSES.map((name) => way(name, words(name))), all], { "aria-label": "Status" });
}

/** Of the runs that are likely stuck the newest, those at work before those that are over. Their number is for the title. */
async function askForStuck() {
  const page = await ask(`v1/runs?status=likely_stuck&limit=${RUNS_ASKED}`);
  const many = page.runs.length;
  stuck = many > 0 ? `${many}${page.next_page_token ? "+" : ""}` : "";
  const isAtWork = (run) => run.ended === "open";
  return page.runs.sort((one, other) => isAtWork(other) - isAtWork(one));
}

/** The runs of a page, some of them first since they need somebody. */
function table(first, runs) {
  if (first.length === 0) return element("table", [head(), group(null, runs)]);
  const isAll = stuck === String(first.length);
  const all = isAll ? null : element("a", `all ${stuck} likely stuck →`, { href: part({ status: "likely_stuck" }) });
  const title = [element("h2", "Need attention"), " ", all];
  const others = runs.filter((run) => !first.some((shown) => shown.run_id === run.run_id));
  return element("table", [head(), group(title, first), others.length > 0 ? group(element("h2", "Other runs"), others) : null]);
}

async function list(query) {
  const [status, agent, page_token] = ["status", "agent", "page_token"].map((name) => query.get(name) ?? "");
  const parameters = new URLSearchParams({ limit: RUNS_ASKED, status, agent, page_token });
  let page = await ask(`v1/runs?${parameters}`);
  for (let looks = 1; looks < LOOKS_MAX && page.runs.length === 0 && page.next_page_token; looks += 1) {
    parameters.set("page_token", page.next_page_token);
    page = await ask(`v1/runs?${parameters}`);
  }
  const allStuck = await askForStuck();
  listPlace = part({ status, agent, page_token });
  const first = status || agent || page_token ? [] : allStuck.slice(0, STUCK_SHOWN);
  const shown = [
    heading([page_token ? "Older runs" : "Runs", agent ? [" of ", name(agent)] : null]),
    parts({ status, agent, page_token }),
    elsewhere([...first, ...page.runs]),
  ];
  if (page.runs.length > 0) {
    shown.push(element("div.wide", table(first, page.runs)));
  } else if (page.next_page_token) {
    shown.push(element("p", "No such runs so far; there are older ones."));
  } else if (status || agent || page_token) {
    shown.push(element("p", "No such runs."));
  } else {
    const doctor = element("code", `eddy doctor${apiFlag()}`);
    const hint = ["In the shell from which an agent is started, ", doctor, " says whether its telemetry comes here."];
    shown.push(element("p", ["No runs yet. ", ...hint]));
  }
  const newest = page_token ? element("a", "← newest runs", { href: part({ status, agent }) }) : null;
  const token = page.next_page_token;
  const older = token ? element("a", "older runs →", { href: part({ status, agent, page_token: token }) }) : null;
  if (newest || older) shown.push(element("nav", [newest, older], { "aria-label": "Pages" }));
  return shown;
}

/** What is known of something, by name: a line for each, or as figures side by side. */
function facts(pairs, kind = "dl") {
  const known = pairs.filter(([, value]) => value && value.length !== 0);
  return element(kind, known.map(([name, value]) => element("div", [element("dt", name), element("dd", value)])));
}

/** Where the part of the list is that was shown last. */
let listPlace = "#";

function back() {
  const way = element("a", listPlace === "#" ? "← all runs" : "← back to the list", { href: listPlace });
  return element("nav", way, { "aria-label": "Way back" });
}

/** What is shown when it is unfolded; whether it is, the element itself remembers. */
const folded = (key, title, content) => element("details", [element("summary", title), ...content], { "data-key": key });

function earlier(why) {
  if (why.earlier === 0) return null;
  const many = short(why.earlier);
  if (why.warning.evidence.length > 0) return element("p.faint", `${many} earlier, no longer kept one by one`);
  return element("p.faint", `${many} without a span: only the guard, or log records, tell of them`);
}

const CALL_COLUMNS = ["When.number", "Arguments", "Result", "Call", "Span"];

function callRow(call) {
  const result = call.result === null ? "" : `${call.failed ? "error" : "result"} ${call.result}`;
  return element("tr", [
    element("td.number", call.at ? element("time", moment(call.at), { title: call.at }) : "–"),
    element("td", call.arguments ?? ""),
    element("td", result || (call.failed ? "failed" : "")),
    element("td", [name(call.what), call.agent ? element("span.faint", [" by ", name(call.agent)]) : null]),
    element("td.id.faint", call.span),
  ]);
}

/** What the letters stand for, where the daemon tells. */
function samples(why) {
  if (!why.events.some((call) => call.arguments !== null)) return [];
  if (!why.samples) {
    const setting = element("code", "service.api.show_arguments: true");
    return [element("p.faint", ["Equal arguments have the same letter. Which ones these are is shown with ", setting, "."])];
  }
  // Z comes before AA.
  const pairs = Object.entries(why.samples).sort(([one], [other]) => one.length - other.length);
  return [element("h3", "Their arguments, redacted"), facts(pairs.map(([letter, text]) => [letter, element("code", text)]))];
}

/** The flag that leads a command to the daemon of this page; nothing where it looks there anyway. */
function apiFlag() {
  const { origin, host, port, protocol, pathname } = location;
  const path = pathname.replace(/\/[^/]*$/, "");
  const isUsual = ["127.0.0.1:4319", "localhost:4319"].includes(host) && path === "";
  if (protocol === "http:" && isUsual) return "";
  // Without a scheme, an address without a port is asked at the usual one.
  const address = (protocol === "http:" && port ? host : origin) + path;
  return ` --api ${/^[\w./:@,-]*$/.test(address) ? address : `'${address.replaceAll("'", "%27")}'`}`;
}

/** Why a warning was raised: what `eddy explain` says. */
function explanation(why) {
  const settings = Object.entries(why.settings);
  const line = ([path, value]) => element("li", element("code", `${path}: ${JSON.stringify(value)}`));
  const way = (way) => element("li", [element("code", way.config), element("div.faint", way.effect)]);
  const command = element("code", `eddy explain${apiFlag()} ${why.warning.id}`);
  return [
    element("h3", "Events that show it"),
    earlier(why),
    element("div.wide", element("table", [headOf(CALL_COLUMNS), element("tbody", why.events.map(callRow))])),
    ...samples(why),
    element("h3", "Why they count as the same"),
    element("p", sentence(why.sameness)),
    element("h3", `Settings that decided (profile ${why.profile})`),
    element("ul", settings.map(line)),
    element("h3", "What would silence it"),
    element("ul", why.silence.map(way)),
    element("p.faint", ["The same in a terminal: ", command]),
  ];
}

/** What the guard last answered because of a warning. */
function guarded(warning) {
  if (!warning.verdict) return null;
  const said = warning.verdict_observed ? "only observes; it would have answered" : "answered";
  return element("p", `The guard ${said} ${warning.verdict}.`);
}

/** A warning, with what explains it where that was asked for, and others that tell of the same calls. */
function card(warning, others, reasons) {
  const where = [
    warning.agent ? ["agent ", name(warning.agent)] : null,
    warning.tool ? ["tool ", name(warning.tool)] : null,
    warning.tokens > 0 ? counted(warning.tokens, "token") : null,
    warning.cost_usd > 0 ? money(warning.cost_usd) : null,
  ];
  const word = isOpen(warning) ? warning.severity : warning.state;
  const place = joined(where.filter(Boolean), " · ");
  const points = isOpen(warning) ? `−${warning.penalty} points, ` : "";
  const spans = counted(warning.evidence.length, "span");
  const also = others.map((other) => [
    named(other),
    other.tool && other.tool !== warning.tool ? [" · ", name(other.tool)] : null,
    isOpen(other) ? ` (−${other.penalty})` : null,
  ]);
  const content = [
    element("h2", [element(`span.status.${word}`, word), ` ${named(warning)} `, element("span.faint", place)]),
    element("p", sentence(warning.what_happened)),
    element("p", sentence(warning.why_it_matters)),
    element("p", [element("strong", "Try: "), ...sentence(warning.what_to_try)]),
    guarded(warning),
    element("p.faint", [`${points}first `, when(warning.first_seen), ", last ", when(warning.last_seen)]),
    folded(`why ${warning.id}`, "why it was raised, and what would silence it", reasons.get(warning.id) ?? []),
    warning.evidence.length > 0 ? folded("spans", `${spans} as evidence`, [element("p.id", warning.evidence.join(" "))]) : null,
    others.length > 0 ? folded("also", ["also seen as ", joined(also, ", ")], others.map((other) => card(other, [], reasons))) : null,
  ];
  return element(`article.${warning.severity}.${warning.state}`, content, { "data-key": warning.id });
}

/** A card for each incident. Its gravest warning comes first, and resolved ones do not hide behind an open one. */
function cards(warnings, reasons) {
  const incidents = new Map();
  for (const warning of warnings) {
    const key = `${warning.state} ${warning.incident}`;
    incidents.set(key, [...(incidents.get(key) ?? []), warning]);
  }
  return [...incidents.values()].map(([leading, ...others]) => card(leading, others, reasons));
}

/** Explanations of the warnings that somebody has unfolded. */
async function explanations(run) {
  const unfolded = new Set([...main.querySelectorAll("details[open]")].map((details) => details.dataset.key));
  const asked = run.warnings.filter((warning) => unfolded.has(`why ${warning.id}`));
  const found = asked.map(async (warning) => {
    const asking = ask(`v1/warnings/${warning.id}?${new URLSearchParams({ run_id: run.run_id })}`);
    return [warning.id, await asking.then(explanation, (refused) => [element("p.error", refused.message)])];
  });
  return new Map(await Promise.all(found));
}

/** What each agent did, also those that called no tool. Agents that are not known, or beyond the first, have no name. */
function agentsWork(run) {
  const done = run.work;
  const idle = run.agents.filter((agent) => !done.some((work) => work.agent === agent));
  const all = [...done, ...idle.map((agent) => ({ agent, calls: 0, repeats: 0 }))];
  if (all.length === 0) return null;
  const nameless = run.agents.length > 0 ? "others" : "not named";
  const line = (work) => [
    element("td", work.agent ? agentLink(work.agent) : nameless),
    element("td.number", short(work.calls)),
    element("td.number", short(work.repeats)),
  ];
  const rows = all.map((work) => element("tr", line(work)));
  const columns = headOf(["Agent", "Calls of tools.number", "Repeats.number"]);
  const table = element("table", [columns, element("tbody", rows)]);
  return folded("work", "what each agent did", [element("div.wide", table)]);
}

/** How a run ended, as a terminal says it. */
const ENDS = { ok: "ended well", failed: "ended in failure", idle: "went quiet without an end" };

async function one(runId) {
  // In a path, these would be places in it.
  if (runId === "." || runId === "..") {
    throw new Refused(400, `a browser cannot ask for a run of this name; \`eddy run${apiFlag()} ${runId}\` shows it in a terminal`);
  }
  const run = await ask(`v1/runs/${encodeURIComponent(runId)}`);
  // Where alerts are about a run, they have its own id.
  main.dataset.run = run.run_id;
  const reasons = await explanations(run);
  const score = isBlind(run) ? "no score" : `score ${run.score} of 100`;
  const warnings = run.warnings.sort((one, other) => isOpen(other) - isOpen(one));
  const refused = run.skipped_calls > 0 ? counted(run.skipped_calls, "call") : "";
  const told = warnings.length > 0 || isBlind(run) ? cards(warnings, reasons) : [element("p", "No warnings.")];
  const notes = run.notes.map((note) => element(isBlind(run) ? "p" : "p.faint", whole(note)));
  return [
    back(),
    heading(run.run_id),
    element("p", [
      element(`span.status.${run.status}`, words(run.status)),
      ` · ${score} · ${ENDS[run.ended] ?? "still open"}`,
    ]),
    ...(isBlind(run) ? notes : []),
    facts([
      ["Calls of tools", short(run.tool_calls)],
      ["Calls of models", short(run.model_calls)],
      ["Tokens", short(run.tokens)],
      ["Cost", cost(run)],
      ["Refused by the guard", refused],
      ["Lowest score", isBlind(run) ? "" : String(run.lowest_score)],
      ["Late reports", run.late_events > 0 ? short(run.late_events) : ""],
    ], "dl.figures"),
    facts([
      ["First seen", when(run.first_seen)],
      ["Last seen", when(run.last_seen)],
      ["Service", run.service],
      ["Session", run.session_id],
      ["Agents", names(run.agents.map(agentLink), AGENTS_SHOWN)],
      ["No price for", run.unpriced_models.map((name) => name || "a model without a name").join(", ")],
    ]),
    agentsWork(run),
    ...told,
    ...(isBlind(run) ? [] : notes),
  ];
}

function askForToken() {
  const hidden = { type: "password", autocomplete: "off" };
  const field = element("input", [], { name: "token", required: "", autofocus: "", "aria-label": "Token", ...hidden });
  const isWrong = sessionStorage.getItem("token");
  return element("form", [
    heading("Token"),
    isWrong ? element("p.error", "This token is not known here.", { role: "alert" }) : element("p", "This address asks for a token."),
    element("p", [field, " ", element("button", "Show")]),
    element("p.faint", "One that the daemon's configuration names (service.api.auth). The tabs with this page keep it until they are closed."),
  ]);
}

/** What stands in an address, whose end may have been cut off. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const place = () => location.hash.slice(1);
const clock = () => moment(new Date().toISOString());

/** Why alerts are not heard, where the address can be asked; empty while they are. */
let unheard = "";
/** When what is shown was asked for. */
let known = "";
let asked = 0;
let answered = 0;
let beganAt = 0;
/** How many runs are likely stuck, as far as that was looked for; empty where none is. */
let stuck = "";

/** What the head of the page says of how fresh it is. */
async function freshness() {
  const ready = await ask("readyz");
  const note = ready.notes?.[0];
  if (note) return element("span.warning", note);
  if (unheard) return element("span.warning", `alerts are not heard (${unheard}); asked every ${EVERY_MS / 1000} s`);
  return element("span.healthy", "live");
}

/** Says that an answer is late, where nothing worse is said. */
function waits() {
  if (state.querySelector(".healthy")) fill(state, [element("span.warning", "waiting for an answer")]);
}

/** Whether a refusal says all there is to say of what was asked for: that it is not there, is no question, or is not for us. */
const isAnswered = (error) => [400, 401, 404].includes(error.status);

/** A daemon's words of what is wrong, as a sentence. */
const whole = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

async function show() {
  const mine = ++asked;
  const here = place();
  const at = clock();
  beganAt = performance.now();
  const late = setTimeout(() => answered < mine && waits(), LATE_MS);
  const runId = here.startsWith("run=") ? decoded(here.slice(4)) : null;
  let shown;
  let said;
  let isKnown = true;
  try {
    shown = await (runId === null ? list(new URLSearchParams(here)) : one(runId));
    said = await freshness();
  } catch (error) {
    if (error.status === 401) [shown, stuck] = [[askForToken()], ""];
    else if (isAnswered(error) || (!shown && here !== main.dataset.place)) {
      shown = [back(), heading(runId || "Runs"), element("p", sentence(whole(error.message)))];
      isKnown = isAnswered(error);
    }
    const old = shown || !known ? "" : `; what is shown is of ${known}`;
    said = isAnswered(error) ? null : element("span.error", error.message + old);
  }
  clearTimeout(late);
  // Another place may have been asked for meanwhile, or a later answer have come before.
  if (here !== place() || mine < answered) return;
  answered = mine;
  const listed = stuck ? `${stuck} stuck · Eddy` : "Eddy";
  document.title = runId === null ? listed : `${clean(runId)} · Eddy`;
  fill(state, said ? [said] : []);
  if (!shown) return;
  known = isKnown ? at : "";
  held.hidden = true;
  const before = main.dataset.place;
  if (here === before) {
    if (!holds(shown)) refill(shown.filter(Boolean));
  } else {
    const focused = document.activeElement?.getAttribute("href");
    scrolled.set(before, scrollY);
    main.replaceChildren(...shown.filter(Boolean));
    main.dataset.place = here;
    if (before !== undefined) arrive(here, before, focused);
  }
  settle();
}

/** How far each place was scrolled when it was left. */
const scrolled = new Map();

/** Puts eye and keyboard at the top of a place that was gone to, or after a look at a run where the list was left, at that run. */
function arrive(here, before, focused) {
  const [isRun, wasRun] = [here, before].map((place) => place.startsWith("run="));
  scrollTo(0, wasRun && !isRun ? (scrolled.get(here) ?? 0) : 0);
  // Of links that both places have, the one that was followed stays.
  const links = [...main.querySelectorAll("a")];
  const left = wasRun ? `#${before}` : focused;
  const followed = isRun ? null : links.find((link) => link.getAttribute("href") === left);
  (followed ?? main.querySelector("h1"))?.focus({ preventScroll: true });
}

let due = 0;

/** Shows what an alert tells of: at once, or as soon as that is not too often. */
function showSoon() {
  if (due) return;
  due = setTimeout(() => {
    due = 0;
    show();
  }, beganAt + ALERTED_MS - performance.now());
}

/** An event of the stream: an alert, or that some were left out. */
function heard(event) {
  const data = /^data: ?(.*)$/m.exec(event)?.[1];
  if (!data) return;
  const alert = JSON.parse(data);
  if (alert.run_id) {
    remember(alert);
    tellSoon(alert);
  }
  const isOfAnother = alert.run_id && place().startsWith("run=") && alert.run_id !== main.dataset.run;
  if (!isOfAnother) showSoon();
}

/** Hears alerts until the stream ends or is silent for too long. */
async function listen(connection) {
  let silence;
  const wait = () => {
    clearTimeout(silence);
    silence = setTimeout(() => connection.abort(), SILENCE_MS);
  };
  wait();
  try {
    const response = await open("v1/alerts", connection.signal);
    unheard = "";
    alerted.clear();
    // What is shown is asked for once the stream is there, so that nothing falls between.
    show();
    const texts = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", read = await texts.read(); !read.done; read = await texts.read()) {
      wait();
      const events = (rest + read.value).split("\n\n");
      rest = events.pop();
      events.forEach(heard);
    }
    unheard = "the stream has ended";
  } catch (error) {
    unheard = error.message;
  } finally {
    clearTimeout(silence);
  }
}

let followed = 0;
let connection = new AbortController();

/** Listens as long as somebody looks. */
async function follow() {
  leave();
  if (document.hidden) return;
  const mine = followed;
  while (mine === followed) {
    connection = new AbortController();
    await listen(connection);
    if (mine !== followed) return;
    await show();
    await new Promise((over) => setTimeout(over, AGAIN_MS));
  }
}

function leave() {
  followed += 1;
  connection.abort();
}

/** The tabs with this page, which tell each other the token: it lies nowhere for all of them. Any page of this origin could ask. */
const tabs = new BroadcastChannel(`eddy ${location.pathname}`);

/** What goes with a token, or without: nobody follows without one, and another tab may have it. */
function settle() {
  const token = sessionStorage.getItem("token");
  finder.hidden = isLocked();
  forget.hidden = isLocked() || !token;
  if (!isLocked()) return;
  leave();
  if (!token) tabs.postMessage({ asks: true });
}

function takeToken(token) {
  sessionStorage.setItem("token", token);
  follow();
}

/** Forgets the token and all that was shown with it, also what is being asked for. Where none is needed, all is shown again. */
function forgetToken() {
  if (!sessionStorage.getItem("token")) return;
  sessionStorage.removeItem("token");
  answered = ++asked;
  alerted.clear();
  clearTimeout(telling);
  telling = 0;
  document.title = "Eddy";
  for (const shown of [state, spoken]) fill(shown, []);
  held.hidden = true;
  main.replaceChildren(askForToken());
  follow();
}

const isLocked = () => main.querySelector("form") !== null;

// A browser would scroll what is shown still to where the next place was left.
history.scrollRestoration = "manual";
addEventListener("hashchange", show);
document.addEventListener("visibilitychange", follow);
tabs.addEventListener("message", ({ data }) => {
  const token = sessionStorage.getItem("token");
  if (data.asks && token && !isLocked()) tabs.postMessage({ token });
  if (data.token && !token) takeToken(data.token);
  if (data.forgets) forgetToken();
});
forget.addEventListener("click", () => {
  tabs.postMessage({ forgets: true });
  forgetToken();
  main.querySelector("input").focus();
});
finder.addEventListener("submit", (event) => {
  event.preventDefault();
  location.hash = `run=${encodeURIComponent(finder.sought.value.trim())}`;
  finder.reset();
});
for (const type of ["pointermove", "keydown"]) main.addEventListener(type, () => (movedAt = performance.now()));
held.addEventListener("click", () => {
  movedAt = -HELD_MS;
  main.querySelector("h1").focus({ preventScroll: true });
  show();
});
main.addEventListener("submit", (event) => {
  event.preventDefault();
  takeToken(event.target.token.value.trim());
});
// It does not bubble. What is unfolded is asked for; what is folded again may stay.
main.addEventListener("toggle", (event) => event.target.dataset.key?.startsWith("why ") && event.target.open && show(), true);
setInterval(() => {
  if (document.hidden || isLocked()) return;
  // Also where nobody answers.
  for (const node of main.querySelectorAll("time[datetime]")) node.textContent = ago(node.dateTime);
  show();
}, EVERY_MS);
follow();
