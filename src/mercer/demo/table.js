// The fourth tab: one's own table, dropped on the page.
let seen = null, row = 0;
const LARGEST = 3e6;
opened.table = async () => { const told = await post("/table/look", {}); if (told.columns.length) showColumns(told); };

async function send(name, blob) {
  if (blob.size > LARGEST) { report(new Error("This page takes files up to 3 MB: use `mercer fit`, or AutoDependency in Python.")); return; }
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  showColumns(await post("/table/look", {name, file: btoa(text)}));
  quiet();
}
$("file").onchange = () => { if ($("file").files.length) send($("file").files[0].name, $("file").files[0]); $("file").value = ""; };
for (const name of ["dragover", "drop"]) window.addEventListener(name, event => event.preventDefault());
$("drop").ondragover = () => $("drop").classList.add("over");
$("drop").ondragleave = () => $("drop").classList.remove("over");
$("drop").ondrop = event => {
  $("drop").classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) send(file.name, file);
};
$("sample").onclick = () => {  // flats whose rent follows from size, city and year
  const lines = ["size,city,year,rent"], cities = ["Oslo", "Rome", "Lima"], rate = [24, 17, 9];
  let state = 7;
  const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
  for (let i = 0; i < 90; i++) {
    const size = Math.round(25 + 95 * random()), c = Math.floor(3 * random()), year = 1950 + Math.floor(70 * random());
    lines.push(`${size},${cities[c]},${year},${Math.round(size * rate[c] * (1 + (year - 1985) / 150) + 60 * (random() - .5))}`);
  }
  send("flats.csv", new Blob([lines.join("\n")]));
};

// Neighbouring columns that are numbered alike (t0, t1, …) are chosen together.
function grouped(columns) {
  const stem = name => name.replace(/\d+$/, ""), groups = [];
  columns.forEach(({name, holds}, i) => {
    const last = groups[groups.length - 1], before = last && columns[last.members[0]].name;
    if (last && stem(name) !== name && stem(name) === stem(before) && last.holds === holds) last.members.push(i);
    else groups.push({members: [i], holds});
  });
  for (const group of groups) {
    const names = group.members.map(i => columns[i].name);
    group.title = names.length > 1 ? `${names[0]} … ${names[names.length - 1]}` : names[0];
  }
  return groups;
}
function showColumns(told) {
  seen = told;
  $("told").textContent = `${told.name}: ${told.rows} rows, ${told.columns.length} columns (${told.read_as})`;
  const head = element("tr");
  head.append(...["column", "use as", "holds", "first cells"].map(title => element("th", title)));
  const groups = grouped(told.columns);
  $("columns").replaceChildren(head, ...groups.map((group, j) => {
    const {title, members, holds} = group, line = element("tr"), last = element("td");
    const role = element("select", undefined, {"data-column": title, "aria-label": `use ${title} as`});
    role.members = members.map(i => told.columns[i].name);
    for (const one of ["input", "output", "nothing"]) role.append(element("option", one, {value: one}));
    role.value = j === groups.length - 1 ? "output" : holds.startsWith("nothing") ? "nothing" : "input";
    const cells = told.first.map(row => row[members[0]] === null ? "–" : String(row[members[0]])).join(" | ");
    last.append(role);
    line.append(element("td", title, {class: "cell", title}), last, element("td", holds), element("td", cells, {class: "cell", title: cells}));
    return line;
  }));
  $("looked").hidden = false; $("fitted").hidden = true; $("fitting").textContent = ""; $("bar").hidden = true;
}

$("fit").onclick = async () => {
  const roles = [...document.querySelectorAll("#columns select")], named = role => roles.filter(s => s.value === role).flatMap(s => s.members);
  $("fit").disabled = true; $("fitted").hidden = true; $("fitting").className = ""; $("fitting").textContent = "Fitting …";
  try {
    await post("/table/fit", {inputs: named("input"), outputs: named("output")});
    $("bar").hidden = false; $("bar").value = 0;
    await watched();
  } catch (problem) { $("fitting").textContent = problem.message; $("fitting").className = "error"; }
  $("fit").disabled = false; $("bar").hidden = true;
};
async function watched() {
  for (;;) {
    const told = await post("/table/progress", {});
    if (told.state === "failed") throw new Error(told.why);
    if (told.state === "done") { showModel(told); return; }
    $("bar").value = told.seconds / told.limit;
    const best = told.best === null ? "" : `, best score so far ${told.best.toFixed(3)}`;
    $("fitting").textContent = `Fitting … ${told.tried} models scored${best} (${Math.round(told.seconds)} of at most ${told.limit} s)`;
    await new Promise(done => setTimeout(done, 300));
  }
}

function showModel(told) {
  const other = Object.entries(told.baselines).filter(pair => pair[1] !== null).sort((a, b) => b[1] - a[1])[0];
  const beside = other ? `; the best simple baseline (${other[0]}) has ${other[1].toFixed(3)}` : "";
  const dropped = told.left_out ? ` ${told.left_out} rows without an output were not used.` : "";
  $("fitting").textContent = `${told.rows} rows in ${told.seconds.toFixed(1)} s. Left-out ${told.metric}: ${told.score.toFixed(3)}${beside}.${dropped}`;
  $("form").replaceChildren(...told.form.flatMap(field => {
    const title = element("label", field.name, {for: "in-" + field.name, dir: "auto"});
    const input = field.kind === "category" ? element("select") : field.kind === "text" ? element("textarea", undefined, {rows: 2}) : element("input", undefined, {type: "text"});
    if (field.kind === "category") for (const one of ["", ...field.values]) input.append(element("option", one, {value: one}));
    for (const [name, one] of [["id", "in-" + field.name], ["data-column", field.name], ["dir", "auto"], ["title", field.kind]]) input.setAttribute(name, one);
    return [title, input];
  }));
  $("fitted").hidden = false; $("drawing").hidden = false; $("report").src = "/table/report";
  row = -1; $("another").onclick();
}
$("report").onload = () => { $("drawing").hidden = true; };
$("another").onclick = async () => {
  const told = await post("/table/row", {number: ++row});
  for (const input of $("form").querySelectorAll("[data-column]")) {
    const cell = told.inputs[input.dataset.column];
    input.value = cell === null || cell === undefined ? "" : Array.isArray(cell) ? cell.join("; ") : cell;
  }
  await predict(told);
};
$("predict").onclick = () => predict(null);
async function predict(filled) {
  const cells = {};
  for (const input of $("form").querySelectorAll("[data-column]")) cells[input.dataset.column] = input.value;
  try { showResult(await post("/table/predict", {row: cells}), filled); quiet(); }
  catch (problem) { $("result").replaceChildren(element("p", problem.message, {class: "error"})); }
}

const written = value => typeof value === "number" ? Number(value.toPrecision(4)).toLocaleString("en", {maximumSignificantDigits: 4, useGrouping: false})
  : Array.isArray(value) ? value.map(written).join(", ") || "(none)" : String(value);
function showResult(told, filled) {
  const parts = [], values = Object.entries(told.output), share = told.coverage ? `${Math.round(100 * told.coverage)} %` : "";
  const numbers = told.kind === "curve" && values.length === 1 ? values[0][1] : values.map(pair => pair[1]);
  if (told.kind === "curve" || (told.kind === "number" && values.length > 6)) {
    const svg = document.createRange().createContextualFragment(`<svg viewBox="0 0 480 240"></svg>`).firstChild, xs = numbers.map((_, i) => i + 1);
    const known = filled && values.map(([name]) => filled.truth[name]).flat();
    plot(svg, [[xs, numbers], ...(known ? [[xs, known]] : [])], {x: "column", band: told.band && [xs, ...told.band]});
    parts.push(svg, element("p", `Blue: the prediction.${share ? ` Shaded: the band that holds the whole output with ${share}.` : ""}${known ? " Red: what the table has." : ""}`, {class: "note"}));
  } else values.forEach(([name, value], j) => {
    const line = element("div");
    line.append(element("bdi", name), ": ", element("b", written(value), {"data-output": name}));
    if (told.band) line.append(element("span", ` (${share}: ${written(told.band[0][j])} to ${written(told.band[1][j])})`, {class: "set", dir: "ltr"}));
    if (filled) line.append(element("div", `in the table: ${written(filled.truth[name])}`, {class: "truth"}));
    parts.push(line);
  });
  if (told.set) parts.push(element("p", `Set that holds the truth with ${share}: ${told.set.join("; ")}${told.members > told.set.length ? ` and ${told.members - told.set.length} more` : ""}`, {class: "set", dir: "auto"}));
  if (told.top) parts.push(element("p", "Best first: " + told.top.map(([y, s]) => `${y} (${s.toFixed(2)})`).join(", "), {class: "note"}));
  if (filled) parts.push(element("p", "This row was learnt from. Change a value and predict again.", {class: "note"}));
  $("result").replaceChildren(...parts);
}
