// A table that is dropped on the page: its columns, the fit, and predictions.
let row = 0;
const LARGEST = 3e6;
window.addEventListener("load", async () => {
  const answer = await post("/table/look", {});
  if (answer.columns.length) showColumns(answer);
});

async function send(name, blob) {
  $("looked").hidden = $("fitted").hidden = true;  // an error replaces the old table
  if (blob.size > LARGEST) { report(new Error("This page takes files up to 3 MB: use AutoDependency in Python for larger ones.")); return; }
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
  showColumns(await post("/table/look", {name, file: btoa(text)}));
  quiet();
}
$("choose").onclick = () => $("file").click();
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
  for (const column of columns) {
    const last = groups[groups.length - 1], before = last && last[0];
    if (last && stem(column.name) !== column.name && stem(column.name) === stem(before.name) && before.input === column.input) last.push(column);
    else groups.push([column]);
  }
  return groups;
}
function select(label, column, options) {
  const made = element("select", undefined, {"data-column": column, "aria-label": label});
  made.append(...options.map(([value, text]) => element("option", text, {value})));
  return made;
}
function showColumns(answer) {
  $("told").textContent = `${answer.name}: ${answer.rows} rows, ${answer.columns.length} columns (${answer.read_as})`;
  const head = element("tr"), groups = grouped(answer.columns), order = answer.columns.map(column => column.name);
  head.append(...["column", "use as", "kind", "first cells"].map(title => element("th", title)));
  $("columns").replaceChildren(head, ...groups.map((columns, j) => {
    const names = columns.map(column => column.name), title = names.length > 1 ? `${names[0]} … ${names.at(-1)}` : names[0];
    const role = select(`use ${title} as`, title, ["input", "output", "nothing"].map(one => [one, one]));
    const kind = element("td"), line = element("tr"), use = element("td");
    role.className = "role"; role.members = names;
    role.value = j === groups.length - 1 ? "output" : columns[0].input.startsWith("nothing") ? "nothing" : "input";
    role.onchange = () => {
      const found = names.length > 1 && role.value === "output" ? "found when fitting" : columns[0][role.value];
      const others = (answer.kinds[role.value] || []).map(one => [one, one]);
      role.kind = select(`kind of ${title}`, title, [["", `${found} (found)`], ...others]);
      role.kind.className = "kind";
      kind.replaceChildren(role.value === "nothing" ? "–" : role.kind);
    };
    role.onchange();
    const cells = answer.first.map(row => row[order.indexOf(names[0])]).map(cell => cell === null ? "–" : String(cell)).join(" | ");
    use.append(role);
    line.append(element("td", title, {class: "cell", title}), use, kind, element("td", cells, {class: "cell", title: cells}));
    return line;
  }));
  $("looked").hidden = false; $("fitted").hidden = true; $("fitting").textContent = ""; $("bar").hidden = true;
}

$("fit").onclick = async () => {
  const roles = [...document.querySelectorAll("#columns .role")], kinds = {};
  const named = role => roles.filter(select => select.value === role).flatMap(select => select.members);
  for (const role of roles) for (const name of role.members) if (role.kind.value) kinds[name] = role.kind.value;
  $("fit").disabled = true; $("fitted").hidden = true; $("fitting").className = ""; $("fitting").textContent = "Fitting …";
  try {
    await post("/table/fit", {inputs: named("input"), outputs: named("output"), kinds});
    $("bar").hidden = false; $("bar").value = 0;
    await watched();
  } catch (problem) { $("fitting").textContent = problem.message; $("fitting").className = "error"; }
  $("fit").disabled = false; $("bar").hidden = true;
};
async function watched() {
  for (;;) {
    const answer = await post("/table/progress", {});
    if (answer.state === "failed") throw new Error(answer.why);
    if (answer.state === "done") { showModel(answer); return; }
    $("bar").value = answer.seconds / answer.limit;
    $("fitting").textContent = `Fitting … (${Math.round(answer.seconds)} of at most ${answer.limit} s)`;
    await new Promise(done => setTimeout(done, 300));
  }
}

function showModel(answer) {
  const other = Object.entries(answer.baselines).filter(pair => pair[1] !== null).sort((a, b) => b[1] - a[1])[0];
  const baseline = other ? `; the best simple baseline (${other[0]}) has ${other[1].toFixed(3)}` : "";
  const dropped = answer.left_out ? ` ${answer.left_out} rows without an output were not used.` : "";
  $("fitting").textContent = `${answer.rows} rows in ${answer.seconds.toFixed(1)} s. Left-out ${answer.metric}: ${answer.score.toFixed(3)}${baseline}.${dropped}`;
  $("form").replaceChildren(...answer.form.flatMap(field => {
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
  const answer = await post("/table/row", {number: ++row});
  for (const input of $("form").querySelectorAll("[data-column]")) {
    const cell = answer.inputs[input.dataset.column];
    input.value = cell === null || cell === undefined ? "" : Array.isArray(cell) ? cell.join("; ") : cell;
  }
  await predict(answer);
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
function showResult(answer, filled) {
  const parts = [], values = Object.entries(answer.output), share = answer.coverage ? `${Math.round(100 * answer.coverage)} %` : "";
  const numbers = answer.kind === "curve" && values.length === 1 ? values[0][1] : values.map(pair => pair[1]);
  if (answer.kind === "curve" || (answer.kind === "number" && values.length > 6)) {
    const svg = document.createRange().createContextualFragment(`<svg viewBox="0 0 480 240"></svg>`).firstChild, xs = numbers.map((_, i) => i + 1);
    const cells = filled ? values.flatMap(([name]) => filled.truth[name]).map(Number) : [];
    const known = cells.length && !cells.some(Number.isNaN) ? cells : null;
    plot(svg, [[xs, numbers], ...(known ? [[xs, known]] : [])], {x: "column", band: answer.band && [xs, ...answer.band]});
    parts.push(svg, element("p", `Blue: the prediction.${share ? ` Shaded: the band that holds the whole output with ${share}.` : ""}${known ? " Red: what the table has." : ""}`, {class: "note"}));
  } else values.forEach(([name, value], j) => {
    const line = element("div");
    line.append(element("bdi", name), ": ", element("b", written(value), {"data-output": name}));
    if (answer.band) line.append(element("span", ` (${share}: ${written(answer.band[0][j])} to ${written(answer.band[1][j])})`, {class: "set", dir: "ltr"}));
    if (filled) line.append(element("div", `in the table: ${written(filled.truth[name])}`, {class: "truth"}));
    parts.push(line);
  });
  if (answer.set) parts.push(element("p", `Set that holds the truth with ${share}: ${answer.set.join("; ")}${answer.members > answer.set.length ? ` and ${answer.members - answer.set.length} more` : ""}`, {class: "set", dir: "auto"}));
  if (answer.top) parts.push(element("p", "Best first: " + answer.top.map(([y, s]) => `${y} (${s.toFixed(2)})`).join(", "), {class: "note"}));
  if (filled) parts.push(element("p", "This row is in the training data. Change a value and predict again.", {class: "note"}));
  $("result").replaceChildren(...parts);
}
