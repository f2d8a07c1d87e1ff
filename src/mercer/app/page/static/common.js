// What all tabs share: questions to the server, errors, tabs, pictures and plots.
const $ = id => document.getElementById(id);
const COLORS = ["#3b6ea5", "#b4552d", "#4f8f5b"];

const post = async (path, body) => {
  let reply;
  try {
    reply = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body)});
  } catch { throw new Error("The server does not answer: is `mercer demo` still running?"); }
  const answer = await reply.json().catch(() => null);
  if (reply.status === 413) throw new Error("That is too much for this page: use mercer in Python.");
  if (!answer || !reply.ok) throw new Error(answer ? answer.error : `The server answered ${reply.status} ${reply.statusText}.`);
  return answer;
};

// An error that no tab shows itself is shown above all tabs; the next success, or a click on a tab, clears it.
const report = problem => { $("problem").textContent = problem.message || String(problem); $("problem").hidden = false; };
const quiet = () => { $("problem").hidden = true; };
window.addEventListener("unhandledrejection", event => { report(event.reason); event.preventDefault(); });

const opened = {};  // what to do when a tab is opened for the first time
const tabs = [...document.querySelectorAll("[role=tab]")];
function openTab(name) {
  for (const tab of tabs) {
    const chosen = tab.dataset.tab === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(tab.dataset.tab).hidden = !chosen;
  }
  if (opened[name]) { const first = opened[name]; delete opened[name]; first(); }
}
// Arrow keys, Home and End move between tabs and open them, as in other programs.
const KEYS = {ArrowRight: i => i + 1, ArrowLeft: i => i - 1, Home: () => 0, End: () => -1};
tabs.forEach((tab, i) => {
  tab.setAttribute("aria-controls", tab.dataset.tab);
  tab.onclick = () => { history.replaceState(null, "", "#" + tab.dataset.tab); openTab(tab.dataset.tab); quiet(); };
  tab.onkeydown = event => {
    if (!KEYS[event.key]) return;
    event.preventDefault();
    const next = tabs.at(KEYS[event.key](i) % tabs.length);
    next.focus(); next.click();
  };
});
window.addEventListener("load", () => {
  const name = location.hash.slice(1);
  openTab(tabs.some(tab => tab.dataset.tab === name) ? name : tabs[0].dataset.tab);
});

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) { made.textContent = text; if (["td", "bdi", "b", "span"].includes(tag)) made.dir = "auto"; }
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function paint(canvas, rows) {
  canvas.width = rows[0].length; canvas.height = rows.length;
  const context = canvas.getContext("2d"), image = context.createImageData(canvas.width, canvas.height);
  rows.flat().forEach((v, i) => { const g = 255 * (1 - Math.max(0, Math.min(1, v))); image.data.set([g, g, g, 255], 4 * i); });
  context.putImageData(image, 0, 0);
}

// Lines are [xs, ys]; `band` is [xs, low, high].
function plot(svg, lines, {logx, logy, mark, x = "", band} = {}) {
  const fx = v => logx ? Math.log10(v) : v, fy = v => logy ? Math.log10(Math.max(v, 1e-12)) : v;
  const all = band ? [...lines, [band[0], band[1]], [band[0], band[2]]] : lines;
  const xs = all.flatMap(l => l[0].map(fx)), ys = all.flatMap(l => l[1].filter(v => v > 0 || !logy).map(fy));
  const [x0, x1, y1] = [Math.min(...xs), Math.max(...xs), Math.max(...ys)];
  const y0 = logy ? Math.max(Math.min(...ys), y1 - 8) : Math.min(...ys);
  const px = v => 44 + (fx(v) - x0) / (x1 - x0 || 1) * 420, py = v => 208 - (Math.max(fy(v), y0) - y0) / (y1 - y0 || 1) * 190;
  const label = (v, log) => (log ? 10 ** v : v).toPrecision(2);
  const points = (us, vs) => us.map((u, j) => `${px(u)},${py(vs[j])}`);
  const area = band ? `<polygon fill="var(--band)" points="${[...points(band[0], band[1]), ...points(band[0], band[2]).reverse()].join(" ")}"/>` : "";
  svg.innerHTML = `<text x="44" y="232">${label(x0, logx)}</text><text x="464" y="232" text-anchor="end">${label(x1, logx)} ${x}</text>
    <text x="4" y="22">${label(y1, logy)}</text><text x="4" y="208">${label(y0, logy)}</text>` + area +
    lines.map((l, i) => `<polyline fill="none" stroke="${COLORS[i % 3]}" stroke-width="2" points="${points(l[0], l[1]).join(" ")}"/>`).join("") +
    (mark ? `<line x1="${px(mark)}" x2="${px(mark)}" y1="12" y2="212" stroke="currentColor" stroke-dasharray="3 3" opacity=".6"/>` : "");
}
