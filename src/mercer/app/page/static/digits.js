// The tab "Digits": lower halves of digits from upper halves, while drawing.
let upper = Array.from({length: 4}, () => Array(8).fill(0)), truth = null, drawn = false;
let seed = 0, waiting = false, again = false, drawing = false;
const PARAMETERS = {
  alpha: {title: "alpha, the ridge", low: -6, high: 1, start: -2},
  epsilon: {title: "epsilon, of the conditional covariance", low: -3, high: 1, start: -1},
  scale: {title: "length scale of inputs", low: -0.5, high: 0.8, start: 0.1},
  output: {title: "length scale of outputs", low: -0.5, high: 0.8, start: 0.3},
};
for (const [name, p] of Object.entries(PARAMETERS)) {
  $("sliders").insertAdjacentHTML("beforeend", `<label for="${name}">${p.title}</label>
    <input type="range" id="${name}" min="${p.low}" max="${p.high}" step="0.05" value="${p.start}"><output id="${name}-value"></output>`);
  $(name).oninput = ask;
}
const value = name => 10 ** Number($(name).value);

function showPad() {
  const context = $("pad").getContext("2d");
  upper.forEach((row, i) => row.forEach((v, j) => {
    const g = 255 * (1 - v); context.fillStyle = `rgb(${g},${g},${g})`; context.fillRect(32 * j, 32 * i, 32, 32);
  }));
  context.strokeStyle = "rgba(128,128,128,.25)";
  for (let j = 1; j < 8; j++) { context.beginPath(); context.moveTo(32 * j, 0); context.lineTo(32 * j, 128); context.stroke(); }
  for (let i = 1; i < 4; i++) { context.beginPath(); context.moveTo(0, 32 * i); context.lineTo(256, 32 * i); context.stroke(); }
}
const empty = () => { upper = upper.map(row => row.map(() => 0)); truth = null; };
function stroke(event) {
  const box = $("pad").getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width * 8, y = (event.clientY - box.top) / box.height * 4;
  for (let i = 0; i < 4; i++) for (let j = 0; j < 8; j++) {
    const d = Math.hypot(j + .5 - x, i + .5 - y);
    upper[i][j] = Math.max(upper[i][j], Math.min(1, Math.max(0, 1.25 - d)));
  }
  showPad(); ask();
}
$("pad").onpointerdown = event => {
  if (!drawn) empty();  // the first stroke replaces a digit that was picked
  drawn = drawing = true;
  $("pad").setPointerCapture(event.pointerId);
  stroke(event);
};
$("pad").onpointermove = event => { if (drawing) stroke(event); };
$("pad").onpointerup = $("pad").onpointercancel = () => { drawing = false; };
$("clear").onclick = () => { empty(); showPad(); ask(); };
$("more").onclick = () => { seed++; showPicks(); };

function pick(rows, lower) {
  upper = rows.map(row => [...row]); truth = lower; drawn = false;
  showPad(); ask();
}
async function showPicks() {
  const some = await post("/digits/some", {seed});
  quiet();
  $("picks").replaceChildren(...some.upper.map((rows, i) => {
    const button = element("button", undefined, {"aria-label": `digit ${i + 1}`}), canvas = element("canvas");
    paint(canvas, rows);
    button.append(canvas);
    button.onclick = () => pick(rows, some.lower[i]);
    return button;
  }));
  if (seed === 0) pick(some.upper[0], some.lower[0]);
}
async function ask() {
  for (const name of Object.keys(PARAMETERS)) $(name + "-value").textContent = value(name).toPrecision(2);
  if (waiting) { again = true; return; }
  waiting = true;
  $("state").textContent ||= "Fitting the first models …";
  try {
    const body = {upper};
    for (const name of Object.keys(PARAMETERS)) body[name] = value(name);
    const start = performance.now(), known = truth, answer = await post("/digits/complete", body);
    show(answer.completions, body.upper, known);
    $("state").textContent = `Answered in ${Math.round(performance.now() - start)} ms.`;
    $("state").className = "";
  } catch (problem) { $("state").textContent = problem.message; $("state").className = "error"; }
  waiting = false;
  if (again) { again = false; ask(); }
}
function show(completions, above, known) {
  const grid = $("completions");
  grid.innerHTML = `<span class="head corner">operator</span><span class="head">best training half</span><span class="head">refined</span><span class="head">truth</span><span class="head">best alpha</span>`;
  completions.forEach((c, i) => {
    grid.insertAdjacentHTML("beforeend", `<span class="name" style="color:${COLORS[i]}">${c.operator}</span>`);
    const halves = {...c.halves, truth: known};
    for (const name of ["Candidates", "FixedPoint", "truth"]) {
      if (!halves[name]) { grid.append(element("span", "–")); continue; }
      const canvas = element("canvas", undefined, {"data-operator": c.operator, "data-decoder": name});
      paint(canvas, [...above, ...halves[name]]);
      grid.append(canvas);
    }
    grid.append(element("span", c.alpha.toPrecision(2)));
  });
  plot($("risk"), completions.map(c => c.risk), {logx: true, mark: value("alpha"), x: "alpha"});
  plot($("spectrum"), completions.map(c => [c.spectrum.map((_, i) => i + 1), c.spectrum]), {logy: true, x: "direction"});
}
showPad(); showPicks();
