"use strict";
const $ = id => document.getElementById(id);
const OF_THE_FILE = ["file", "space", "columns", "array", "missing", "curves"];
const TEXTS = [...OF_THE_FILE, "invalid", "mechanism", "ledger", "dataset", "out", "symmetric", "slide", "slide_by", "links", "channels"];
let releases = {}, readAs = "", asks = "", sizes = {}, outs = {}, blur = null, plan = {}, ledger = {}, ended = false;

/* -- asking the server ------------------------------------------------------------------------------------------------ */
async function sent(what, body, method = "POST") {
  const answer = await fetch(what, method === "GET" ? {} : {method, headers: {"Content-Type": "application/json"}, body}).catch(lost);
  if (answer.ok) return answer;
  throw Object.assign(new Error((await answer.json()).refusal || "the studio gave no answer"), {plain: true});
}
function lost() {
  gone("The studio on this machine does not answer: it has stopped, or is cut off. A release that was finished is in its file. " +
    "This page goes on by itself once it answers again; to start it again: sfumato studio");
  throw new Error("gone");
}
const ask = async (...given) => (await sent(...given)).json();
const post = (what, chosen = choices(), more = {}) => ask(`api/${what}`, JSON.stringify({choices: chosen, ...more}));
function gone(...words) {
  if (!ended) $("gone").replaceChildren(...words);
  $("gone").hidden = false;
}
async function beat() {  // says that the server has died, and finds it again
  const answer = await fetch("page.js", {method: "HEAD"}).catch(() => null);
  if (answer?.ok && !$("gone").hidden && !ended) location.reload();
  if (answer?.status === 403) gone("The studio was started anew: ", el("a", {href: "/"}, "open it with its new code"), ". What you filled in is kept.");
  if (!answer && !ended) await Promise.resolve().then(lost).catch(() => null);
}
function refuse(id, words) {
  $(id).textContent = words ? capital(words) : "";
  $(id).hidden = !words;
}
function plainly(error) {
  if (error.plain) return error.message;
  if (error.message !== "gone") throw error;
  return "";
}
const capital = words => (/^[a-z]+[ ,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words) + (/[.!?]$/.test(words) ? "" : ".");

/* -- making elements: text only, never markup ------------------------------------------------------------------------- */
function made(node, look, inside) {
  for (const name in look) node.setAttribute(name, look[name]);
  node.append(...inside.filter(Boolean));
  return node;
}
const el = (tag, look = {}, ...inside) => made(document.createElement(tag), look, inside);
const sv = (tag, look = {}, ...inside) => made(document.createElementNS("http://www.w3.org/2000/svg", tag), look, inside);
const marked = {
  line: m => sv("polyline", {points: m.p.map(p => p.join()).join(" "), class: m.c}),
  area: m => sv("path", {d: m.p.map(ring => `M${ring.map(p => p.join()).join("L")}Z`).join(""), class: m.c}),
  dot: m => sv("circle", {cx: m.p[0], cy: m.p[1], r: m.r, class: m.c}),
  text: m => sv("text", {x: m.p[0], y: m.p[1], class: m.c, ...(m.a && {transform: `rotate(${m.a} ${m.p.join(" ")})`})}, m.s),
  cell: m => {
    const cell = sv("rect", {x: m.p[0], y: m.p[1], width: m.p[2], height: m.p[3]}, sv("title", {}, m.s));
    cell.style.fill = `color-mix(in srgb, var(--${m.f < 0 ? "minus" : "plus"}) ${100 * Math.min(1, Math.abs(m.f))}%, var(--card))`;
    return cell;
  }};
function drawn(panel, words) {
  const soft = sv("g", {class: "bands"});  // one wash, however many overlap
  const svg = sv("svg", {viewBox: `0 0 ${panel.size.join(" ")}`, role: "img", "aria-label": [panel.title, words].filter(Boolean).join(". ")}, soft);
  for (const m of panel.marks) (m.c === "band" ? soft : svg).append(marked[m.t](m));
  return el("div", {}, panel.title && el("p", {class: "title"}, panel.title), svg);
}
const SWATCH = {line: c => sv("path", {d: "M0 6H26", class: c}), dots: c => sv("circle", {cx: 13, cy: 6, r: 4, class: c}),
  soft: c => sv("rect", {width: 26, height: 12, rx: 4, class: `${c} bands`})};
function pictures(found, words) {
  const rows = [...new Set(found.panels.map(p => p.row))].map(row => found.panels.filter(p => p.row === row));
  return [...rows.map(row => {
    const made = el("div", {class: `panels of-${row.length}`}, ...row.map(p => drawn(p, words)));
    made.style.gridTemplateColumns = row.map(p => `minmax(0, ${p.size[0]}fr)`).join(" ");  // as wide as each other as in print
    return made;
  }),
    found.legend.length && el("ul", {class: "legend"}, ...found.legend.map(([label, c, kind]) =>
      el("li", {}, sv("svg", {viewBox: "0 0 26 12", "aria-hidden": "true"}, SWATCH[kind](c)), label)))].filter(Boolean);
}
function table(head, rows) {
  return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": head.filter(Boolean).join(", ")}, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map(h => h ? el("th", {scope: "col"}, h) : el("td")))),
    el("tbody", {}, ...rows.map(r => el("tr", {}, el("th", {scope: "row"}, r[0]), ...r.slice(1).map(c => el("td", {}, c)))))));
}
const shownAs = {};
function show(id, found, more) {
  $(id).hidden = !found;
  if (!found || shownAs[id] === JSON.stringify(found)) return;
  shownAs[id] = JSON.stringify(found);
  $(id).replaceChildren(...pictures(found, found.words), el("figcaption", {}, found.words), ...(more ? [more] : []));
}

/* -- the form --------------------------------------------------------------------------------------------------------- */
const TASKS = {  // what may be asked for: what of the form it takes, and what is said of it
  release: {takes: [], of: "the mean of"},
  compare: {takes: ["by", "labels", "within", "smallest"], ticks: ["labels_are_public"], of: c => `the means of the groups of ${c.by}${c.within && ` within ${c.within}`} among`,
    needs: c => [!c.by && "the column of the groups (step 1)", !c.labels_are_public && "whether everybody may know the groups (step 1)"]},
  regress: {takes: ["on", "limits"], ticks: ["number_is_public", "test_only"], of: c => `how the mean changes with ${c.on} among`,
    needs: c => [!c.on && "the column of the number (step 1)", !c.limits && !c.number_is_public && "the limits of the number (step 1)"]},
  components: {takes: ["about", "components"], task: true, of: "the directions of"},
  variance: {takes: ["about", "reach"], task: true, of: "the variance of", needs: c => [!c.about && "the record of the released mean (step 1)"]}};
const wanted = () => TASKS[picked("what")] || TASKS.release;
const ofMean = () => wanted() === TASKS.release;
const known = () => wanted().takes.includes("about") && $("about").value.trim();  // where records lie, by what was released
const finding = () => picked("how") === "prior" || (picked("how") === "center" && $("find").value !== "");
const picked = name => document.querySelector(`input[name=${name}]:checked`)?.value || "";
const typed = id => $(id).value.trim().replace(",", ".");  // a decimal comma is a point
const unsaid = () => picked("who") === "unit" && asks && !$("alone").checked;  // a column may say whose record it is
const ready = () => known() || ({
  center: $("center").value.trim() && Number(typed("radius")) > 0,
  public: $("public").value.trim(),
  prior: picked("wide") === "whole" || ($("low").value && $("high").value)})[picked("how")];
function choices() {
  const made = {read_as: readAs}, landmarks = $("prior").value;
  for (const name of TEXTS) made[name] = $(name).value.trim();
  made.files = made.file;
  delete made.file;
  for (const name of ["n", "epsilon"]) made[name] = typed(name);
  if (picked("kind") === "approx") made.delta = typed("delta");
  if (picked("who") === "unit") { made.unit = $("unit").value.trim(); made.alone = $("alone").checked; }
  if (picked("who") === "column") made.unit_column = $("unit_column").value.trim();
  if (picked("how") === "public") { made.public = $("public").value.trim(); if (made.public) made.relation = $("relation").value; }
  if (picked("how") === "center") {
    made.center = $("center").value.trim();
    made[$("find").value === "ball" ? "prior" : "radius"] = typed("radius");
    made.find_radius = $("find").value === "radius";
  }
  if (picked("how") === "prior" && ready()) made.prior = picked("wide") === "whole" ? "whole" : `${typed("low")}:${typed("high")}`;
  for (const name of wanted().takes) made[name] = name === "reach" ? typed(name) : $(name).value.trim();
  for (const name of wanted().ticks || []) made[name] = $(name).checked;
  if (wanted().task) made.task = picked("what");
  if (!ofMean()) made.mechanism = "auto";
  const said = ["center", "radius", "prior", "find_radius", ...(picked("what") === "variance" ? ["public", "relation"] : [])];
  if (known()) for (const name of said) delete made[name];
  if (!$("modes-field").hidden) made.modes = $("modes").value;
  if ($("inference").checked && ofMean()) made.inference = 0.1;
  if ($("steps").checked && ofMean() && !finding()) made.steps = 2;
  made.allow_useless = $("allow_useless").checked;
  if (!made.ledger) made.dataset = "";
  if ($("prior-field").hidden) made.links = made.symmetric = made.slide = "";
  else if (landmarks && !$("prior-pick").hidden) made[landmarks] = true;
  if ($("channels-field").hidden) made.channels = "";
  return made;
}
const fields = () => [...document.querySelectorAll("main input:not([type=range]), main select")].filter(e => e.id !== "confirm");
const ticked = e => e.type === "radio" || e.type === "checkbox";
function keep() {
  const held = fields().map(e => [e.id || e.name + e.value, ticked(e) ? e.checked : e.value]);
  sessionStorage.setItem("plan", JSON.stringify({readAs, asks, sizes, ...Object.fromEntries(held)}));
}
function restore() {
  const held = JSON.parse(sessionStorage.getItem("plan") || "{}");
  for (const e of fields()) { const kept = held[e.id || e.name + e.value]; if (kept !== undefined) e[ticked(e) ? "checked" : "value"] = kept; }
  readAs = held.readAs || ""; asks = held.asks || ""; sizes = held.sizes || {};
  if ($("alone").checked || unsaid()) offerAlone(asks || "a column");
}
function arrange() {
  const kind = $("space").value.trim() || readAs, wide = /^(spd|euclidean)/.test(kind) ? "range" : /^sphere/.test(kind) && "whole";
  for (const e of document.querySelectorAll("input[name=wide]")) { e.checked = wide ? e.value === wide : e.checked; e.closest("label").hidden = wide && !e.checked; }
  $("between").textContent = `All ${kind.startsWith("spd") ? "variances" : "their numbers"} lie between two limits`;
  for (const part of document.querySelectorAll("[data-when]")) {
    const [name, value] = part.dataset.when.split("=");
    part.hidden = !value.split("|").includes(picked(name));
  }
  const seen = {waits: !picked("who"), "radius-again": picked("how") === "center", "prior-pick": !finding(), "find-hint": finding(),
    "modes-field": picked("how") === "public" || ($("prior").value && !finding()), "smallest-field": picked("what") === "compare", "mechanism-field": ofMean(),
    "steps-field": !finding(), "delta-field": picked("kind") === "approx"};
  for (const id in seen) $(id).hidden = !seen[id];
  const by = $("unit_column").value.trim(), unit = $("unit").value.trim();
  const whom = picked("who") === "column" ? by && `: each ${by} counts once` : picked("who") && unit && `: each is ${unit}`;
  for (const part of document.querySelectorAll("[data-whom]")) part.textContent = whom;
  if ($("alone-too")) $("alone-too").textContent = $("alone").checked ? "Each record by itself: noted" : "No: each record by itself";
  $("file-set").disabled = !picked("who");
  $("group-names").replaceChildren(...Object.keys(sizes).map(c => el("option", {value: c})));
  if (Object.values(outs).includes($("out").value)) $("out").value = outs[picked("what")] || outs.release;
  for (const range of document.querySelectorAll("input[type=range]")) if (range !== document.activeElement) place(range);
}
const span = range => [Math.log10(range.dataset.low), Math.log10(range.dataset.high)];
function place(range) {
  const [low, high] = span(range), value = Number(typed(range.dataset.for)) || Number(range.dataset.low);
  range.min = 0; range.max = 100; range.step = 1;  // of a key
  range.value = Math.round(100 * (Math.log10(value) - low) / (high - low || 1));
  range.setAttribute("aria-valuetext", String(value));
}
function slide(range) {
  const [low, high] = span(range), value = 10 ** (low + (high - low) * range.value / 100);
  $(range.dataset.for).value = range.dataset.whole ? Math.max(1, value < 100 ? Math.round(value) : Number(value.toPrecision(2))) : Number(value.toPrecision(2));
  for (const other of document.querySelectorAll(`input[type=range][data-for=${range.dataset.for}]`)) if (other !== range) place(other);
  range.setAttribute("aria-valuetext", $(range.dataset.for).value);
}

/* -- step 1 ------------------------------------------------------------------------------------------------------------- */
async function inspect() {
  refuse("data-refusal");
  $("inspect").disabled = true;
  try {
    tell(await post("inspect"));
  } catch (error) {
    $("seen").hidden = true;
    refuse("data-refusal", plainly(error));
    $("details").open = true;
    $("data-refusal").scrollIntoView({block: "nearest"});
  } finally {
    $("inspect").disabled = false;
  }
}
function tell(found) {
  const box = $("seen"), [name, count] = Object.entries(found.repeats)[0] || [];
  const button = (words, act, look = {}) => Object.assign(el("button", {type: "button", ...look}, words), {onclick: act});
  readAs = found.space; sizes = found.groups; asks = name && picked("who") === "unit" ? name : "";
  $("prior-field").hidden = found.kind !== "landmarks";
  $("column-names").replaceChildren(...found.columns.map(c => el("option", {value: c})));
  $("n").value = found.n;
  countGroups();
  const list = [`The points are ${found.points_from}`, `Columns beside them: ${found.columns.join(", ") || "none"}`,
    `Records that cannot be used: ${found.bad_records || "none"}`, ...found.bad.map(b => `— ${b}`), ...found.remarks.map(r => `To look at: ${r}`),
    found.exact_copies && `Records that are exact copies of others: ${found.exact_copies}`,
    ...Object.keys(sizes).map(c => `By ${c} the groups are ${Object.entries(sizes[c]).map(([g, n]) => `${g} (${n})`).join(", ")}.`)];
  box.replaceChildren(el("strong", {class: "mark"}, "Curator only: not private, and no part of a release"),
    el("p", {class: "big"}, `${found.format}: ${found.contents}. n is set to ${found.n} in step 3.`), el("ul", {}, ...list.filter(Boolean).map(l => el("li", {}, l))));
  if (found.may_be.length) box.append(el("p", {}, "The file does not say what these are:"), el("p", {}, ...found.may_be.flatMap(kind => [
    button([...$("spaces").options].find(o => o.value === kind)?.textContent || kind,
      () => { $("space").value = kind; $("details").open = true; otherFile(); changed(); inspect(); }), " "])));
  if (asks) {
    offerAlone(name);
    box.append(el("p", {}, `The column ${name} has ${count}. Does it say whose record it is?`), el("p", {},
      button(`Yes: protect each ${name}`, () => {
        document.querySelector("input[name=who][value=column]").checked = true;
        $("unit_column").value = name; withdraw("alone"); changed(); inspect(); }), " ",
      button("", () => { $("alone").checked = true; changed(); }, {class: "quiet", id: "alone-too"})));
  }
  box.hidden = false;
  changed();
  box.focus({preventScroll: true});
  box.scrollIntoView({block: "nearest"});
}
function countGroups() {
  const counted = sizes[$("by").value.trim()], within = Object.keys(sizes[$("within").value.trim()] || {}).length;
  if (counted) $("smallest").value = Math.floor(Math.min(...Object.values(counted)) / (within || 1));  // of a second factor as if even
}
function withdraw(id) {  // leave that was given for other records counts no more
  $(id).checked = false;
  if (id === "alone") $("alone-field").hidden = !unsaid();
}
function otherFile() {
  readAs = asks = ""; sizes = {}; $("seen").hidden = true;
  refuse("data-refusal");
  withdraw("alone"); withdraw("labels_are_public"); withdraw("number_is_public");
}
function offerAlone(name) {
  $("alone-field").querySelector("span").textContent = `Each record counts by itself, though ${name} holds some values more than once`;
  $("alone-field").hidden = false;
}

/* -- what the server says of the form: one request a change, whose parts are shown as they come ----------------------------- */
let looking = false, shown = "", timer = 0;
const asked = () => JSON.stringify({choices: choices()});
async function look() {
  if (looking || asked() === shown) return settle();
  looking = true; shown = asked();
  try {
    const reader = (await sent("api/look", shown)).body.pipeThrough(new TextDecoderStream()).getReader();
    for (let held = ""; ;) {
      const {value, done} = await reader.read().catch(lost), lines = (held + (value || "")).split("\n");
      held = lines.pop();
      for (const line of lines) { const found = JSON.parse(line); PARTS[found.part](found); }
      if (done) break;
    }
  } catch (error) {
    const refusal = plainly(error);
    for (const name in PARTS) PARTS[name]({refusal});
  }
  looking = false;
  look();
}
const PARTS = {
  known(found) {
    const drawn = ready() && !found.refusal;
    show("known-picture", drawn && found);
    refuse("known-refusal", ready() && found.refusal);
    document.querySelector(".blank").hidden = drawn || !$("known-refusal").hidden;
    if (!drawn) return;
    $("prior-field").hidden = !found.landmarks;
    $("channels-field").hidden = !found.named;
    $("modes-range").dataset.high = found.dim;
  },
  blur(found) {
    const above = !$("known-refusal").hidden;
    blur = ready() && !found.refusal ? found : null;
    show("blur-picture", blur);
    refuse("blur-refusal", !above && ready() && found.refusal);
    const why = above || !ready() ? `see step 2${picked("how") === "center" && $("center").value && !above ? ": give the radius too" : ""}` : "see why beside";
    $("means").replaceChildren(...(blur ? [el("p", {class: "big"}, blur.says), ...blur.also.map(line => el("p", {}, line)), el("p", {}, blur.means),
      el("details", {}, el("summary", {}, "More"), el("p", {}, blur.more))] : [el("p", {}, `Nothing to show yet: ${why}.`)]));
    $("means").classList.toggle("bad", Boolean(blur?.useless));
    $("useless-field").hidden = !blur?.useless && !$("allow_useless").checked;
    $("whole").textContent = blur ? `Error at 95%: ${digits(blur.error)} (${blur.of})` : "";
    $("whole").hidden = !blur;
  },
  plan(found) {
    plan = found;
    if (found.refusal && !ready()) refuse("blur-refusal", found.refusal);
    $("open").hidden = !plan.taken || plan.id in releases;
  },
  ledger(found) {
    ledger = found;
    const several = found.datasets?.length > 1, wrong = found.refusal || found.missing;
    $("dataset-field").hidden = !several;
    $("dataset-names").replaceChildren(...(found.datasets || []).map(d => el("option", {value: d})));
    const lines = [wrong && capital(wrong), found.words || (several && `This ledger has several data sets: ${found.datasets.join(", ")}. Name the one that pays.`),
      found.open?.length && `Charged, but no release is noted for it: ${found.open.join("; ")}. A program was stopped half-way, or released without a note. It stays charged.`];
    $("left").replaceChildren(...lines.filter(Boolean).map(line => el("p", {}, line)));
    $("left").classList.toggle("bad", Boolean(wrong));
    $("left").hidden = !$("left").children.length;
    if (found.missing) { $("new").open = true; $("new-name").value = $("ledger").value; }
  },
  curve(found) {
    show("curve-picture", blur && found.panels && found, found.table && el("details", {}, el("summary", {}, "The same in numbers"), table(found.head, found.table)));
  }};
const digits = x => Number(x.toPrecision(3)).toString();
const promise = c => `ε = ${digits(Number(c.epsilon))}${c.delta ? `, δ = ${c.delta}` : ""}`;
const last = path => path.replace(/^.*[\\/]/, "");

/* -- step 4 --------------------------------------------------------------------------------------------------------------- */
let working = false;
function settle() {
  const c = choices(), done = releases[plan.id], whom = c.unit_column ? `each ${c.unit_column}` : c.unit;
  const open = [!whom && "whom you protect (step 1)", !c.files && "the file (step 1)", unsaid() && `does ${asks} say whose record it is (step 1)`,
    ...(wanted().needs?.(c) || []), !ready() && "what is publicly known (step 2)"].filter(Boolean);
  const many = ledger.datasets && ledger.left === undefined;
  const why = (working && "Releasing…") || ((looking || asked() !== shown) && "One moment…") || (done && (done.done ? "Released already" : "Releasing…")) ||
    (open.length && `Still to say: ${open[0]}`) || (!$("known-refusal").hidden && "Not possible so: see step 2") || (!blur && "Not possible so: see step 3") ||
    (ledger.missing && "The ledger is not there yet") || (ledger.refusal && "The ledger cannot be read") || (many && "Name the ledger's data set") ||
    (ledger.after === null && `Too little budget: ${ledger.left} is left`) || (plan.taken && `${c.out} exists already`) ||
    (blur.useless && !c.allow_useless && "Useless so: see step 3") || "";
  $("do").disabled = Boolean(why);
  $("sure").hidden = Boolean(done?.done);
  $("do").textContent = why || `Release for ${promise(c)}`;
  for (const id of ["means", "spend", "curve-picture"]) $(id).setAttribute("aria-busy", String(why === "One moment…"));
  if (why === "One moment…") return;
  const so = !done && !open.length && blur, lines = [
    done && (done.done ? "This plan is released already: nothing more is spent on it." : "This plan is being released."),
    !done && open.length && `Still to say: ${open.join(", ")}.`, !done && !open.length && !blur && `${why}.`,
    so && `${promise(c)} will be spent on ${typeof wanted().of === "string" ? wanted().of : wanted().of(c)} ${c.n} records of ${last(c.files)}, to protect ${whom}.`,
    so && blur.says,
    so && plan.taken && `${c.out} exists already, and is never replaced: give the record another name.`,
    so && ledger.left !== undefined && (ledger.after === null ? `The ledger has only ${ledger.left} left: choose a smaller ε.` : `In the ledger: ${ledger.left} now, ${ledger.after} afterwards.`),
    so && !c.ledger && "No ledger is charged: several releases about the same people add up, and nobody keeps count.",
    so && "It cannot be taken back."];
  $("spend").replaceChildren(...lines.filter(Boolean).map((line, i) => el("p", i ? {} : {class: "big"}, line)));
}
async function makeLedger() {
  refuse("make-refusal");
  try {
    await post("make", {ledger: $("new-name").value.trim(), epsilon: typed("budget"), files: $("file").value.trim()});
    $("ledger").value = $("new-name").value.trim();
    $("new").open = false;
    changed(0, true);
  } catch (error) { refuse("make-refusal", plainly(error)); }
}
async function release(event) {
  event.preventDefault();
  let job, refusal;
  working = true; changed();
  try {
    job = await post("release", choices(), {confirm: $("confirm").value, seen: Object.keys(releases).length});
    releases[job.id] = job;
    $("confirm").value = "";
    job = await follow(job.id);
    refusal = job.refusal;
  } catch (error) {
    refusal = plainly(error);
  }
  working = false; $("progress").hidden = true;
  changed(0, true, refusal);
  await look();
  if (refusal) $("release-refusal").scrollIntoView({block: "nearest"});
  if (job?.words) arrive();
}
async function follow(id) {
  for (;;) {
    const job = releases[id] = await ask(`api/job/${id}`, null, "GET");
    $("progress").textContent = `${capital(job.stage).slice(0, -1)}…`;
    $("progress").hidden = job.done;
    if (!job.done) { await new Promise(resolve => setTimeout(resolve, 150)); continue; }
    if (!job.words && !job.charged) delete releases[id];
    if (job.words) home(job);
    if (job.fixes.includes("unit")) offerAlone("a column");
    if (job.fixes.includes("allow_useless")) $("useless-field").hidden = false;
    return job;
  }
}
async function reopen() {
  try {
    const job = await post("open");
    releases[job.id] = job;
    home(job); arrive();
  } catch (error) { refuse("release-refusal", plainly(error)); }
}
function arrive() {
  $("home-title").focus({preventScroll: true});
  $("home").scrollIntoView();
}

/* -- step 5 --------------------------------------------------------------------------------------------------------------- */
const NAMES = {"report.html": "Report (HTML)", "record.json": "Record (JSON)", "picture.png": "Picture (PNG)", "picture.svg": "Picture (SVG)",
  "value.csv": "Value (CSV)", "value.tps": "Value (TPS)", "value.npy": "Value (NumPy)"};
function home(job) {
  $("nothing").hidden = true;
  $(`job-${job.id}`)?.remove();
  const code = (title, text) => text && el("details", {}, el("summary", {}, title), el("pre", {tabindex: "0"}, text)), stem = last(job.out).replace(/\.json$/, "");
  $("taken").prepend(el("article", {id: `job-${job.id}`, class: "two"},
    el("div", {class: "told"}, el("h3", {}, `Released: ${job.promise}`), ...job.short.map((line, i) => el("p", i ? {} : {class: "big"}, line))),
    el("figure", {}, ...pictures(job, job.seen)),
    el("div", {}, el("ul", {class: "takes"}, ...job.takes.map((name, i) => el("li", {}, el("a", {class: i ? "button" : "button main", href: `take/${job.id}/${name}`, download: `${stem}-${name}`}, NAMES[name])))),
    el("p", {class: "hint"}, `The record is in ${job.out}. This page may be loaded again: nothing more is spent.`), job.next &&
      el("p", {}, "To make up specimens that vary so, for teaching or trying out programs, at no cost: ", el("code", {}, job.next)),
    job.curator.length && el("div", {class: "curator"}, el("strong", {class: "mark"}, "Curator only"), ...job.curator.map(c => el("p", {}, capital(c)))),
    job.dropped?.length && el("p", {}, `For what follows, put ${job.dropped.join(" and ")} in the folder that you are in: what is dropped on the page is forgotten when the studio stops.`)),
    el("div", {}, el("details", {}, el("summary", {}, "All that is promised, and how it was made"), ...job.words.split("\n").map(line => el("p", {}, line))),
    code("The same on the command line", job.command), code("The same in Python", job.python))));
}

/* -- all together ----------------------------------------------------------------------------------------------------------- */
function changed(wait = 0, anew = false, refusal = "") {
  if (anew) shown = "";
  refuse("release-refusal", refusal);
  arrange(); keep(); settle();
  clearTimeout(timer);
  timer = setTimeout(look, wait);
}
async function dropped(file, id) {
  try {
    $(id).value = (await ask(`api/drop?name=${encodeURIComponent(file.name)}`, file)).path;
    $(id).dispatchEvent(new Event("change", {bubbles: true}));
  } catch (error) { refuse(id === "file" ? "data-refusal" : "known-refusal", plainly(error)); }
}
function droppable(part, target) {
  part.addEventListener("dragover", event => { event.preventDefault(); part.classList.add("dropping"); });
  part.addEventListener("dragleave", () => part.classList.remove("dropping"));
  part.addEventListener("drop", event => {
    event.preventDefault(); part.classList.remove("dropping");
    const file = event.dataTransfer.files[0], id = target();
    if (file && id) dropped(file, id);
  });
}
function watch() {
  const links = [...document.querySelectorAll("nav a")];
  const seen = new IntersectionObserver(found => found.filter(f => f.isIntersecting).forEach(f => links.forEach(a =>
    a.hash === `#${f.target.id}` ? a.setAttribute("aria-current", "step") : a.removeAttribute("aria-current"))), {rootMargin: "-30% 0px -69% 0px"});
  document.querySelectorAll("section").forEach(section => seen.observe(section));
}
async function begin() {
  const state = await ask("api/state", null, "GET");
  for (const id of ["file", "ledger"]) $(id).value = state[id];
  outs = state.outs;
  $("out").value = outs.release;
  $("folder").textContent = `Names without a folder are in ${state.folder}.`;
  $("file-names").replaceChildren(...state.files.map(f => el("option", {value: f})));
  $("ledger-names").replaceChildren(...state.ledgers.map(f => el("option", {value: f})));
  restore();
  for (const job of state.releases) { releases[job.id] = job; if (job.words) home(job); }
  document.addEventListener("change", event => {
    if (OF_THE_FILE.includes(event.target.id)) otherFile();
    if (["who", "unit", "unit_column"].includes(event.target.name || event.target.id)) withdraw("alone");
    if (["by", "within", "labels"].includes(event.target.id)) withdraw("labels_are_public");
    if (["by", "within"].includes(event.target.id)) countGroups();
    if (event.target.id === "on") withdraw("number_is_public");
    if (event.target.type !== "range" && !["confirm", "chooser", "new-name", "budget"].includes(event.target.id)) changed();
  });
  document.addEventListener("input", event => {
    if (event.target.type === "range") slide(event.target);
    if (event.target.type === "range" || (event.target.inputMode && event.target.id !== "budget")) changed(event.target.type === "range" ? 30 : 250);
  });
  $("inspect").onclick = inspect;
  $("go").addEventListener("submit", release);
  $("open").onclick = reopen;
  $("make").onclick = makeLedger;
  $("stop").onclick = async () => { await ask("api/stop", "{}"); gone("The studio has stopped, as you told it. You may close this page."); ended = true; };
  let asking = "";
  for (const button of document.querySelectorAll("[data-browse]")) button.onclick = () => { asking = button.dataset.browse; $("chooser").click(); };
  $("chooser").onchange = () => { const file = $("chooser").files[0]; if (file) dropped(file, asking); $("chooser").value = ""; };
  droppable($("data"), () => picked("who") && "file");
  droppable($("known"), () => ({center: "center", public: "public"})[picked("how")]);
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, event => event.preventDefault());
  watch();
  setInterval(beat, 2000);
  changed();
  for (const job of state.releases) if (!job.done) follow(job.id).then(done => changed(0, true, done.refusal));
  document.documentElement.dataset.ready = "yes";
}
begin();
