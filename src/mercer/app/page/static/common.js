// Questions to the server, errors and plots.
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

// An error that is not shown next to its cause is shown at the top; the next success clears it.
const report = problem => { $("problem").textContent = problem.message || String(problem); $("problem").hidden = false; };
const quiet = () => { $("problem").hidden = true; };
window.addEventListener("unhandledrejection", event => { report(event.reason); event.preventDefault(); });

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) { made.textContent = text; if (["td", "bdi", "b", "span"].includes(tag)) made.dir = "auto"; }
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

// Lines are [xs, ys]; `band` is [xs, low, high].
function plot(svg, lines, {x = "", band} = {}) {
  const all = band ? [...lines, [band[0], band[1]], [band[0], band[2]]] : lines;
  const xs = all.flatMap(line => line[0]), ys = all.flatMap(line => line[1]);
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const px = v => 44 + (v - x0) / (x1 - x0 || 1) * 420, py = v => 208 - (v - y0) / (y1 - y0 || 1) * 190;
  const points = (us, vs) => us.map((u, j) => `${px(u)},${py(vs[j])}`);
  const area = band ? `<polygon fill="var(--band)" points="${[...points(band[0], band[1]), ...points(band[0], band[2]).reverse()].join(" ")}"/>` : "";
  svg.innerHTML = `<text x="44" y="232">${x0.toPrecision(2)}</text><text x="464" y="232" text-anchor="end">${x1.toPrecision(2)} ${x}</text>
    <text x="4" y="22">${y1.toPrecision(2)}</text><text x="4" y="208">${y0.toPrecision(2)}</text>` + area +
    lines.map((line, i) => `<polyline fill="none" stroke="${COLORS[i % 3]}" stroke-width="2" points="${points(line[0], line[1]).join(" ")}"/>`).join("");
}
