"use strict";
const $ = id => document.getElementById(id);
const TEXTS = ["file", "space", "columns", "array", "missing", "curves", "invalid", "mechanism", "ledger", "dataset", "out", "prior", "symmetric", "links", "channels"];
const OF_THE_FILE = ["file", "space", "columns", "array", "missing", "curves"];
const NUMBERS = ["n", "epsilon"];
let releases = {}, readAs = "", sizes = {}, shownMechanism = "", budget = {left: null}, place = null, curveKey = "", lastBlur = null, outs = {};

/* -- asking the server ------------------------------------------------------------------------------------------------ */
async function ask(what, body, method = "POST") {
  let answer;
  try {
    answer = await fetch(what, method === "GET" ? {} : {method, headers: {"Content-Type": "application/json"}, body});
  } catch {
    gone();
    throw new Error("gone");
  }
  const found = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(found.refusal || "the studio gave no answer"), {plain: true});
  return found;
}
const post = (what, chosen = choices(), more = {}) => ask(`api/${what}`, JSON.stringify({choices: chosen, ...more}));
function gone(words) {
  $("gone").textContent = words || "The studio on this machine has stopped, so this page does nothing any more. A release that was " +
    "finished is in its file. Start it again with: sfumato studio";
  $("gone").hidden = false;
}
function refuse(id, error) {
  if (error && !error.plain) { if (error.message !== "gone") throw error; return; }
  $(id).textContent = error ? capital(error.message) : "";
  $(id).hidden = !error;
}
const capital = words => (/^[a-z]+[ ,]/.test(words) ? words.charAt(0).toUpperCase() + words.slice(1) : words) + (/[.!?]$/.test(words) ? "" : ".");

/* -- making elements: text only, never markup ------------------------------------------------------------------------- */
function el(tag, look = {}, ...inside) {
  const made = document.createElement(tag);
  for (const name in look) made.setAttribute(name, look[name]);
  made.append(...inside.filter(x => x !== null && x !== undefined));
  return made;
}
function sv(tag, look) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in look) made.setAttribute(name, look[name]);
  return made;
}
function drawn(panel, words) {
  const svg = sv("svg", {viewBox: `0 0 ${panel.size[0]} ${panel.size[1]}`, role: "img", "aria-label": [panel.title, words].filter(Boolean).join(". ")});
  const soft = svg.appendChild(sv("g", {class: "bands"}));  // one wash, however many overlap
  for (const m of panel.marks) {
    let made;
    if (m.t === "line") made = sv("polyline", {points: m.p.map(p => p.join()).join(" "), class: m.c});
    else if (m.t === "area") made = sv("path", {d: m.p.map(ring => `M${ring.map(p => p.join()).join("L")}Z`).join(""), class: m.c});
    else if (m.t === "dot") made = sv("circle", {cx: m.p[0], cy: m.p[1], r: m.r, class: m.c});
    else if (m.t === "cell") {
      made = sv("rect", {x: m.p[0], y: m.p[1], width: m.p[2], height: m.p[3], fill: m.f});
      made.append(Object.assign(sv("title", {}), {textContent: m.s}));
    } else made = Object.assign(sv("text", {x: m.p[0], y: m.p[1], class: m.c, ...(m.a && {transform: `rotate(${m.a} ${m.p.join(" ")})`})}), {textContent: m.s});
    (m.c === "band" ? soft : svg).append(made);
  }
  return svg;
}
function table(head, rows) {
  return el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": head.join(", ")}, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map(h => el("th", {scope: "col"}, h)))),
    el("tbody", {}, ...rows.map(r => el("tr", {}, el("th", {scope: "row"}, r[0]), ...r.slice(1).map(c => el("td", {}, c)))))));
}
function show(id, found, words) {
  const made = found.panels.map(p => el("div", {}, p.title ? el("h3", {}, p.title) : null, drawn(p, words)));
  if (found.rows) made.push(table(found.head, found.rows));
  if (made.length === 1) made[0].className = "wide";
  const figure = $(id), broad = found.panels.length === 2 && found.panels.every(p => p.size[1] < 0.6 * p.size[0]);
  figure.querySelector(".panels").classList.toggle("broad", broad);
  figure.querySelector(".panels").replaceChildren(...made);
  figure.querySelector("figcaption").textContent = words;
  figure.hidden = false;
}

/* -- the form --------------------------------------------------------------------------------------------------------- */
const KEPT = ["delta", "unit", "unit_column", "public", "relation", "center", "radius", "modes", "find", "low", "high", "by", "labels", "smallest"];
const TICKS = ["alone", "allow_useless", "inference", "labels_are_public", "steps"];
const RADIOS = ["kind", "who", "what", "how", "wide"];
const grouped = () => picked("what") === "groups";
const finding = () => picked("how") === "prior" || (picked("how") === "center" && $("find").value !== "");
const picked = name => document.querySelector(`input[name=${name}]:checked`)?.value || "";
const typed = id => $(id).value.trim().replace(",", ".");  // a decimal comma is a point
function choices() {
  const made = {read_as: readAs}, landmarks = $("prior").value;
  for (const name of TEXTS) made[name] = $(name).value.trim();
  made.files = made.file;
  delete made.file; delete made.prior;
  for (const name of NUMBERS) made[name] = typed(name);
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
  if (grouped()) {
    for (const name of ["by", "labels", "smallest"]) made[name] = $(name).value.trim();
    made.labels_are_public = $("labels_are_public").checked;
    made.mechanism = "auto";
  }
  if (!$("modes-field").hidden) made.modes = $("modes").value;
  if ($("inference").checked && !grouped()) made.inference = 0.1;
  if ($("steps").checked && !grouped() && !finding()) made.steps = 2;
  made.allow_useless = $("allow_useless").checked;
  if (!made.ledger) made.dataset = "";
  if ($("prior-field").hidden) made.links = made.symmetric = "";
  else if (landmarks && !$("prior-pick").hidden) made[landmarks] = true;
  if ($("channels-field").hidden) made.channels = "";
  return made;
}
function keep() {
  const held = {readAs, sizes, ticks: TICKS.filter(name => $(name).checked)};
  for (const name of RADIOS) held[name] = picked(name);
  for (const name of [...TEXTS, ...NUMBERS, ...KEPT]) held[name] = $(name).value;
  sessionStorage.setItem("plan", JSON.stringify(held));
}
function restore() {
  const held = JSON.parse(sessionStorage.getItem("plan") || "{}");
  for (const name in held) if ($(name) && "value" in $(name) && typeof held[name] === "string") $(name).value = held[name];
  for (const name of RADIOS) {
    const radio = held[name] && document.querySelector(`input[name=${name}][value=${held[name]}]`);
    if (radio) radio.checked = true;
  }
  for (const name of held.ticks || []) $(name).checked = true;
  readAs = held.readAs || ""; sizes = held.sizes || {};
  if ($("alone").checked) offerAlone("a column");
}
function arrange() {
  for (const part of document.querySelectorAll("[data-when]")) {
    const [name, value] = part.dataset.when.split("=");
    part.hidden = picked(name) !== value;
  }
  $("file-set").disabled = !picked("who");
  $("radius-again").hidden = picked("how") !== "center";
  $("prior-pick").hidden = finding();
  document.querySelector("[data-find]").hidden = !finding();
  $("modes-field").hidden = !(picked("how") === "public" || ($("prior").value && !finding()));
  $("smallest-field").hidden = !grouped();
  $("mechanism-field").hidden = grouped();
  $("steps-field").hidden = finding();
  $("delta-field").hidden = picked("kind") !== "approx";
  $("group-names").replaceChildren(...Object.keys(sizes).map(c => el("option", {value: c})));
  if (Object.values(outs).includes($("out").value)) $("out").value = grouped() ? outs.groups : outs.mean;
  for (const range of document.querySelectorAll("input[type=range]")) place_slider(range);
}
const span = range => [Math.log10(range.dataset.low), Math.log10(range.dataset.high)];
function place_slider(range) {
  const [low, high] = span(range), value = Number(typed(range.dataset.for)) || Number(range.dataset.low);
  range.min = 0; range.max = 100; range.step = 1;  // of a key
  range.value = Math.round(100 * (Math.log10(value) - low) / (high - low || 1));
  range.setAttribute("aria-valuetext", String(value));
}
function slide(range) {
  const [low, high] = span(range), value = 10 ** (low + (high - low) * range.value / 100);
  $(range.dataset.for).value = range.dataset.whole ? Math.max(1, value < 100 ? Math.round(value) : Number(value.toPrecision(2))) : Number(value.toPrecision(2));
  for (const other of document.querySelectorAll(`input[type=range][data-for=${range.dataset.for}]`)) if (other !== range) place_slider(other);
  range.setAttribute("aria-valuetext", $(range.dataset.for).value);
}

/* -- step 1 ------------------------------------------------------------------------------------------------------------- */
async function inspect() {
  refuse("data-refusal");
  $("inspect").disabled = true;
  try {
    const found = await post("inspect");
    readAs = found.space;
    $("prior-field").hidden = found.kind !== "landmarks";
    const list = [`${found.format}: ${found.contents}`, `The points are ${found.points_from}`, `Columns beside them: ${found.columns.join(", ") || "none"}`,
      `Records that cannot be used: ${found.bad_records || "none"}`, ...found.bad.map(b => `— ${b}`), ...found.remarks.map(r => `To look at: ${r}`)];
    if (found.exact_copies) list.push(`Records that are exact copies of others: ${found.exact_copies}`);
    const box = $("seen"), repeats = Object.entries(found.repeats);
    box.replaceChildren(el("strong", {class: "mark"}, "For the curator's eyes only: not private, and no part of a release"), el("ul", {}, ...list.map(l => el("li", {}, l))));
    if (found.may_be.length) {
      const kinds = found.may_be.map(kind => {
        const known = [...$("spaces").options].find(o => o.value === kind), made = el("button", {type: "button"}, known ? known.textContent : kind);
        made.onclick = () => { $("space").value = kind; $("details").open = true; otherFile(); changed(); inspect(); };
        return made;
      });
      box.append(el("p", {}, "The file does not say what these are:"), el("p", {}, ...kinds.flatMap(k => [k, " "])));
    }
    if (repeats.length && picked("who") === "unit") {
      const [name, count] = repeats[0];
      const yes = el("button", {type: "button"}, `Yes: protect each ${name}`), no = el("button", {type: "button", class: "quiet"}, "No: each record by itself");
      yes.onclick = () => { document.querySelector("input[name=who][value=column]").checked = true; $("unit_column").value = name; withdraw("alone"); changed(); inspect(); };
      no.onclick = () => { offerAlone(name); $("alone").checked = true; changed(); no.textContent = "Each record by itself: noted"; };
      box.append(el("p", {}, `The column ${name} has ${count}. Does it say whose record it is?`), el("p", {}, yes, " ", no));
      offerAlone(name);
    }
    $("column-names").replaceChildren(...found.columns.map(c => el("option", {value: c})));
    $("n").value = found.n;
    box.append(el("p", {}, `n is set to ${found.n} in step 3.`));
    sizes = found.groups;
    for (const name in sizes) box.append(el("p", {}, `By ${name} the groups are ${Object.entries(sizes[name]).map(([g, n]) => `${g} (${n})`).join(", ")}.`));
    countGroups();
    box.hidden = false;
    changed();
    box.focus({preventScroll: true});
  } catch (error) {
    $("seen").hidden = true;
    refuse("data-refusal", error);
  } finally {
    $("inspect").disabled = false;
  }
}
function countGroups() {
  const counted = sizes[$("by").value.trim()];
  if (counted) $("smallest").value = Math.min(...Object.values(counted));
}
function withdraw(id) {  // leave that was given for other records counts no more
  $(id).checked = false;
  if (id === "alone") $("alone-field").hidden = true;
}
function otherFile() {
  readAs = ""; sizes = {}; $("seen").hidden = true;
  refuse("data-refusal");
  withdraw("alone"); withdraw("labels_are_public");
}
function offerAlone(name) {
  $("alone-field").querySelector("span").textContent = `Each record counts by itself, though ${name} holds some values more than once`;
  $("alone-field").hidden = false;
}

/* -- steps 2 and 3: public numbers only ----------------------------------------------------------------------------------- */
const ready = () => ({
  center: $("center").value.trim() && Number(typed("radius")) > 0,
  public: $("public").value.trim(),
  prior: picked("wide") === "whole" || ($("low").value && $("high").value)})[picked("how")];
let drawing = false, again = null;
async function look(quick) {
  if (drawing) { again = again === false ? false : quick; return; }
  drawing = true;
  try {
    if (ready()) busy(true);
    await (ready() ? looked(quick) : unready());
  } finally {
    drawing = false;
    if (again === null) busy(false);
    if (again !== null) { const next = again; again = null; look(next); }
  }
}
function unready() {
  for (const id of ["known-picture", "blur-picture", "curve-picture"]) $(id).hidden = true;
  refuse("known-refusal"); refuse("blur-refusal");
  lastBlur = null;
  const radius = picked("how") === "center" && $("center").value.trim();
  $("means").replaceChildren(el("p", {}, radius ? "Give the radius too, in step 2: a number above 0." : "Say first, in step 2, what is publicly known."));
  spend();
}
function busy(yes) {
  for (const id of ["means", "spend"]) $(id).setAttribute("aria-busy", String(yes));
  if (yes && !lastBlur) $("means").replaceChildren(el("p", {}, "One moment…"));
}
let knownKey = "";
async function looked(quick) {
  const chosen = choices(), key = JSON.stringify([chosen.public, chosen.relation, chosen.center, chosen.radius, chosen.prior, chosen.find_radius, chosen.symmetric, chosen.smooth, chosen.open, chosen.bending, chosen.modes, chosen.space, chosen.read_as, chosen.links, chosen.channels]);
  try {
    if (key !== knownKey) {
      const found = await post("known", chosen);
      knownKey = key;
      show("known-picture", found, found.words);
      $("prior-field").hidden = !found.landmarks;
      $("channels-field").hidden = !found.named;
      $("modes-range").dataset.high = found.dim;
    }
    refuse("known-refusal");
  } catch (error) {
    unready();
    refuse("known-refusal", error);
    return;
  }
  try {
    if (quick && shownMechanism && chosen.mechanism === "auto") chosen.mechanism = shownMechanism;
    const found = await post("blur", chosen);
    if (!quick || chosen.mechanism !== "auto") shownMechanism = found.mechanism;
    lastBlur = {...found, epsilon: Number(chosen.epsilon), promise: promise(chosen), n: chosen.n};
    show("blur-picture", found, found.words);
    refuse("blur-refusal");
    means();
    mark();
    if (finding()) { clearTimeout(curveTimer); curveKey = ""; $("curve-picture").hidden = true; }
    else if (!quick) curve({...choices(), mechanism: found.mechanism});
  } catch (error) {
    lastBlur = null;
    for (const id of ["blur-picture", "curve-picture"]) $(id).hidden = true;
    $("means").replaceChildren(el("p", {}, "Nothing can be released so: see why beside."));
    refuse("blur-refusal", error);
  }
  spend();
}
const digits = x => Number(x.toPrecision(3)).toString();
const promise = c => `ε = ${digits(Number(c.epsilon))}${c.delta ? `, δ = ${c.delta}` : ""}`;
const far = b => digits(b.error) + (b.degrees ? ` (${digits(b.error * b.degrees)}°)` : "");
function means() {
  const b = lastBlur, e = digits(b.epsilon);
  const lines = [
    el("p", {class: "big"}, `${b.first ? `${b.first}${b.what || "error"}` : "Error"} up to ${far(b)}, with probability 95%.`),
    b.error > 1.001 * b.noise && !b.first ? el("p", {}, `The noise alone is up to ${digits(b.noise)}; the rest is what clipping, curvature and directions that are left out may cost, by what is public.`) : null,
    b.fallback ? el("p", {}, `If a look says that the public specimens do not fit: up to ${digits(b.fallback)}.`) : null,
    ...(b.also || []).map(line => el("p", {}, line)),
    b.to_beat === null ? b.useless && el("p", {}, "This would be useless: the noise is as large as whatever region is found. More records, a larger ε, or more public knowledge help.") :
    b.gain != null ? el("p", {}, `The public centre alone is expected to be some ${digits(b.to_beat)} from the mean: ` +
      (b.useless ? "this release would be no nearer, and is useless. More records, a larger ε, or more public knowledge help." : `this release is ${b.gain < 1.05 ? "hardly" : `${b.gain.toPrecision(2)} times`} nearer.`)) :
    el("p", {}, b.useless ? `This would be useless: the region is only ${digits(b.to_beat)} wide, and that is known already. More records, a larger ε, or more public knowledge help.`
      : `Known beforehand: the mean is typically ${digits(b.to_beat)} from the centre, or nearer.` + (b.error < b.to_beat ? "" : " So this release may say little beyond the centre.")),
    el("p", {}, `Mechanism: ${b.mechanism}` + (b.directions < b.dim ? `, in ${b.directions} of ${b.dim} directions; nothing is learned of the others.` : ".")),
    budget.left !== null && budget.left !== undefined && el("p", {}, `In the ledger: ${budget.left} is left.`),
    el("p", {}, `What ${b.promise} means: of 100 guesses whether one person is in, at most ${b.guesses} are right instead of 50, whatever else is known. ` +
      `And one person changes the probability p of any outcome to at most e^${e}·p${b.promise.includes("δ") ? " + δ" : ""}, where e^${e} = ${b.odds > 1e4 ? b.odds.toExponential(1) : digits(b.odds)}.`)];
  $("means").replaceChildren(...lines.filter(Boolean));
  $("means").classList.toggle("bad", b.useless);
  $("useless-field").hidden = !b.useless && !$("allow_useless").checked;
}
let curveTimer = 0;
function curve(chosen) {
  const key = JSON.stringify({...chosen, epsilon: 1, out: "", ledger: "", dataset: "", allow_useless: false, alone: false, unit: ""});
  if (key === curveKey) return;
  clearTimeout(curveTimer);
  curveTimer = setTimeout(async () => {
    try {
      const found = await post("curve", {...chosen, epsilon: 1});
      curveKey = key; place = found.place;
      show("curve-picture", {panels: found.panels}, `The error at 95% against ε, by ${chosen.mechanism}, with your choice marked. ${found.words}`.trim());
      const more = el("details", {}, el("summary", {}, "The same in numbers"), table(found.head, found.table));
      $("curve-picture").querySelector("figcaption").append(more);
      mark();
    } catch (error) { $("curve-picture").hidden = true; if (!error.plain && error.message !== "gone") throw error; }
  }, 400);
}
function mark() {
  const svg = $("curve-picture").querySelector("svg");
  if (!svg || !place || !lastBlur) return;
  for (const old of svg.querySelectorAll(".mark, .drop")) old.remove();
  const [a, b, c, d, bottom] = place, x = a + b * Math.log10(lastBlur.epsilon), y = c + d * Math.log10(lastBlur.error);
  if (!(x >= 40 && x <= 400)) return;
  svg.append(sv("line", {class: "drop", x1: x, x2: x, y1: y, y2: bottom}), sv("circle", {class: "mark", cx: x, cy: y, r: 6}));
  svg.setAttribute("aria-label", `Error against epsilon. Your choice: epsilon ${digits(lastBlur.epsilon)}, error ${digits(lastBlur.error)}.`);
}

/* -- step 4 --------------------------------------------------------------------------------------------------------------- */
let ledgerKey = "";
async function askLedger(force) {
  const chosen = choices(), key = chosen.ledger + "\n" + chosen.dataset;
  if (key === ledgerKey && !force) return;
  ledgerKey = key;
  const left = $("left");
  try {
    const answer = await post("ledger", chosen);
    if (key !== ledgerKey) return;  // another ledger was named meanwhile
    budget = answer;
    $("dataset-field").hidden = !(budget.datasets?.length > 1);
    $("dataset-names").replaceChildren(...(budget.datasets || []).map(d => el("option", {value: d})));
    const lines = budget.words ? [el("p", {}, budget.words)] : budget.datasets ? [el("p", {}, `This ledger has several data sets: ${budget.datasets.join(", ")}. Name the one that pays.`)] : [];
    if (budget.open?.length) lines.push(el("p", {}, `Charged, but no release is noted for it: ${budget.open.join("; ")}. A program was stopped half-way, or released without a note. It stays charged.`));
    left.replaceChildren(...lines);
    left.classList.remove("bad");
    left.hidden = !lines.length;
  } catch (error) {
    if (!error.plain || key !== ledgerKey) return;
    budget = {left: null};
    left.replaceChildren(el("p", {}, capital(error.message)));
    left.classList.add("bad");
    left.hidden = false;
  }
  spend();
}
const last = path => path.replace(/^.*[\\/]/, "");
let asked = 0;
async function spend() {
  const chosen = choices(), box = $("spend"), lines = [], turn = ++asked;
  let plan;
  try {
    plan = await post("plan", chosen);
  } catch (error) {
    if (turn === asked) { box.replaceChildren(); refuse("release-refusal", error); }
    return;
  }
  if (turn !== asked) return;  // a later answer is under way
  const made = releases[plan.id], whom = chosen.unit_column ? `each ${chosen.unit_column}` : chosen.unit;
  if (made) lines.push(el("p", {class: "big"}, made.done ? "This plan is released already. Releasing it again costs nothing and changes nothing." : "This plan is being released."));
  else {
    const open = [!whom && "whom you protect (step 1)", !chosen.files && "the file (step 1)", grouped() && !chosen.by && "the column of the groups (step 1)",
      grouped() && !chosen.labels_are_public && "whether everybody may know the groups (step 1)", !ready() && "what is publicly known (step 2)"].filter(Boolean);
    lines.push(open.length ? el("p", {}, `Still to say: ${open.join(", ")}.`) : el("p", {class: "big"}, `${promise(chosen)} will be spent on ${chosen.by ? `the means of the groups of ${chosen.by} among` : "the mean of"} ${chosen.n} records of ${last(chosen.files)}, to protect ${whom}.`));
    if (!open.length && lastBlur && lastBlur.promise === promise(chosen) && lastBlur.n === chosen.n) lines.push(el("p", {}, `${lastBlur.first ? `${lastBlur.first}off` : "The mean will be off"} by up to ${far(lastBlur)}, with probability 95%.`));
    if (!open.length && !$("known-refusal").hidden) lines.splice(0, 9, el("p", {}, "Nothing can be released so: see step 2."));
    else if (!open.length && !$("blur-refusal").hidden) lines.splice(0, 9, el("p", {}, "Nothing can be released so: see step 3."));
    if (plan.taken) lines.push(el("p", {}, `${chosen.out} exists already, and is never replaced: give the record another name.`));
    if (budget.left !== null) {
      const rest = Number(budget.left) - Number(chosen.epsilon);
      if (chosen.delta || budget.kind) lines.push(el("p", {}, budget.words));
      else lines.push(el("p", {}, rest >= -1e-12 ? `In the ledger: ${budget.left} now, ${digits(Math.max(rest, 0))} afterwards.` : `The ledger has only ${budget.left} left: choose a smaller ε.`));
    } else if (!chosen.ledger) lines.push(el("p", {}, "No ledger is charged. Several releases about the same people add up, and nobody keeps count."));
    lines.push(el("p", {}, "It cannot be taken back."));
  }
  box.replaceChildren(...lines);
}
async function release(event) {
  event.preventDefault();
  refuse("release-refusal");
  $("open").hidden = true; $("do").disabled = true;
  try {
    const job = await post("release", choices(), {confirm: $("confirm").value, seen: Object.keys(releases).length});
    releases[job.id] = job;
    $("confirm").value = "";
    await follow(job.id);
  } catch (error) {
    refused(error);
  } finally {
    $("do").disabled = false; $("progress").hidden = true;
    askLedger(true);
  }
}
function refused(error) {
  refuse("release-refusal", error);
  $("open").hidden = !/exists already/.test(error.message);
  if (/each record by itself/.test(error.message)) offerAlone("a column");
  if (/even if useless/.test(error.message)) $("useless-field").hidden = false;
}
async function follow(id) {
  for (;;) {
    const job = await ask(`api/job/${id}`, null, "GET");
    releases[id] = job;
    $("progress").textContent = `${capital(job.stage).slice(0, -1)}…`;
    $("progress").hidden = job.done;
    if (job.done) break;
    await new Promise(resolve => setTimeout(resolve, 150));
  }
  const job = releases[id];
  if (!job.words && !job.charged) delete releases[id];
  if (job.words) { home(job); $("home").scrollIntoView(); $("home-title").setAttribute("tabindex", "-1"); $("home-title").focus(); }
  if (job.refusal) refused(Object.assign(new Error(job.refusal), {plain: true}));
  spend();
}
async function reopen() {
  try {
    const job = await post("open");
    releases[job.id] = job;
    refuse("release-refusal"); $("open").hidden = true;
    home(job);
    $("home").scrollIntoView();
    spend();
  } catch (error) { refuse("release-refusal", error); }
}

/* -- step 5 --------------------------------------------------------------------------------------------------------------- */
const NAMES = {"record.json": "Record (JSON)", "report.html": "Report (HTML)", "picture.png": "Picture (PNG)", "picture.svg": "Picture (SVG)",
  "value.csv": "Value (CSV)", "value.tps": "Value (TPS)", "value.npy": "Value (NumPy)"};
function home(job) {
  $("nothing").hidden = true;
  $(`job-${job.id}`)?.remove();
  const take = name => `take/${job.id}/${name}`;
  const box = el("article", {id: `job-${job.id}`}, el("h3", {}, `Released: ${job.promise}`), el("p", {}, `The record is in ${job.out}. This page may be loaded again: nothing more is spent.`));
  if (job.curator.length) box.append(el("div", {class: "curator"}, el("strong", {class: "mark"}, "For the curator's eyes only"), ...job.curator.map(c => el("p", {}, capital(c)))));
  box.append(el("ul", {class: "takes"}, ...job.takes.map(name => el("li", {}, el("a", {class: "button", href: take(name), download: `${last(job.out).replace(/\.json$/, "")}-${name}`}, NAMES[name])))));
  box.append(el("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture"}, el("img", {src: take("picture.png") + "?show", alt: "The release drawn, with its error at 95%"})));
  box.append(el("h3", {}, "In words"), ...job.words.split("\n").map(line => el("p", {}, line)));
  if (job.dropped?.length) box.append(el("p", {}, `For what follows, put ${job.dropped.join(" and ")} in the folder that you are in: what is dropped on the page is forgotten when the studio stops.`));
  if (job.command) box.append(el("h3", {}, "The same on the command line"), el("pre", {tabindex: "0"}, job.command));
  if (job.python) box.append(el("h3", {}, "The same in Python"), el("pre", {tabindex: "0"}, job.python));
  $("taken").prepend(box);
}

/* -- all together ----------------------------------------------------------------------------------------------------------- */
let timer = 0;
function changed() {
  refuse("release-refusal");
  arrange(); keep(); spend(); askLedger();
  clearTimeout(timer);
  timer = setTimeout(() => look(false), 120);
}
function sliding(range) {
  slide(range);
  clearTimeout(timer);
  look(true);
  timer = setTimeout(() => { keep(); look(false); }, 350);
}
async function dropped(file, id) {
  const where = id === "file" ? "data-refusal" : "known-refusal";
  try {
    const found = await ask(`api/drop?name=${encodeURIComponent(file.name)}`, file);
    $(id).value = found.path;
    $(id).dispatchEvent(new Event("change", {bubbles: true}));
  } catch (error) { refuse(where, error); }
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
async function begin() {
  const state = await ask("api/state", null, "GET");
  for (const id of ["file", "ledger"]) $(id).value = state[id];
  outs = state.outs;
  $("out").value = outs.mean;
  $("folder").textContent = `Names without a folder are in ${state.folder}.`;
  $("file-names").replaceChildren(...state.files.map(f => el("option", {value: f})));
  $("ledger-names").replaceChildren(...state.ledgers.map(f => el("option", {value: f})));
  restore();
  for (const job of state.releases) { releases[job.id] = job; if (job.words) home(job); }
  document.addEventListener("change", event => {
    if (OF_THE_FILE.includes(event.target.id)) otherFile();
    if (["who", "unit", "unit_column"].includes(event.target.name || event.target.id)) withdraw("alone");
    if (["by", "labels"].includes(event.target.id)) withdraw("labels_are_public");
    if (event.target.id === "by") countGroups();
    if (event.target.type !== "range" && event.target.id !== "confirm" && event.target.id !== "chooser") changed();
  });
  document.addEventListener("input", event => {
    if (event.target.type === "range") sliding(event.target);
    else if (event.target.inputMode) changed();
  });
  $("inspect").onclick = inspect;
  $("go").addEventListener("submit", release);
  $("open").onclick = reopen;
  $("stop").onclick = async () => { await ask("api/stop", "{}"); gone("The studio has stopped, as you told it. You may close this page."); };
  let asking = "";
  for (const button of document.querySelectorAll("[data-browse]")) button.onclick = () => { asking = button.dataset.browse; $("chooser").click(); };
  $("chooser").onchange = () => { const file = $("chooser").files[0]; if (file) dropped(file, asking); $("chooser").value = ""; };
  droppable($("data"), () => picked("who") && "file");
  droppable($("known"), () => ({center: "center", public: "public"})[picked("how")]);
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, event => event.preventDefault());
  changed();
  for (const job of state.releases) if (!job.done) follow(job.id);
  document.documentElement.dataset.ready = "yes";
}
begin();
