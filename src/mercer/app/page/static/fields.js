// The field tab: a conductivity is drawn along a bar, and the temperature predicted.
let bar = null, barSeed = 0, barWaits = false, barAgain = false, barDraws = false, barLast = null;
opened.fields = showBar;

async function showBar() {
  bar = await post("/fields/some", {seed: barSeed++});
  quiet();
  drawBar(); askBar();
}
const barHeight = v => (Math.log(v) - Math.log(bar.low)) / (Math.log(bar.high) - Math.log(bar.low));
function drawBar() {
  const canvas = $("bar-pad"), context = canvas.getContext("2d"), n = bar.a.length, w = canvas.width / n;
  context.fillStyle = "#fff"; context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = COLORS[1];
  bar.a.forEach((v, i) => { const h = Math.max(2, barHeight(v) * canvas.height); context.fillRect(i * w, canvas.height - h, w - 1, h); });
}
function barStroke(event) {
  const box = $("bar-pad").getBoundingClientRect(), n = bar.a.length;
  const at = {i: Math.min(n - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * n))), y: Math.min(1, Math.max(0, 1 - (event.clientY - box.top) / box.height))};
  const from = barLast || at, steps = Math.max(1, Math.abs(at.i - from.i));
  for (let s = 0; s <= steps; s++) {
    const i = Math.round(from.i + (at.i - from.i) * s / steps), y = from.y + (at.y - from.y) * s / steps;
    bar.a[i] = bar.low * (bar.high / bar.low) ** y;
  }
  barLast = at;
  drawBar(); askBar();
}
$("bar-pad").onpointerdown = event => { if (!bar) return; barDraws = true; barLast = null; $("bar-pad").setPointerCapture(event.pointerId); barStroke(event); };
$("bar-pad").onpointermove = event => { if (barDraws) barStroke(event); };
$("bar-pad").onpointerup = $("bar-pad").onpointercancel = () => { barDraws = false; };
$("otherbar").onclick = showBar;

async function askBar() {
  if (barWaits) { barAgain = true; return; }
  barWaits = true;
  try {
    const answer = await post("/fields/predict", {a: bar.a});
    plot($("solution"), [[answer.points, answer.predicted], [answer.points, answer.truth]], {x: "position", band: [answer.points, ...answer.band]});
    const inside = answer.truth.every((v, i) => answer.band[0][i] <= v && v <= answer.band[1][i]);
    $("bar-state").textContent = `The simulated solution ${inside ? "stays in" : "leaves"} the band.`;
    $("bar-state").className = "";
  } catch (problem) { $("bar-state").textContent = problem.message; $("bar-state").className = "error"; }
  barWaits = false;
  if (barAgain) { barAgain = false; askBar(); }
}
