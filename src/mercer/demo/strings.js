// The third tab: a pasted table of two columns of strings.
$("pairs").value = "nab\tNAB\nban\tBAN\nbanana\tBANANA\nan\tAN\ncab\tKSAB\nbac\tBAKS\nnac\tNAKS\ncan\tKSAN";
$("learn").onclick = async () => {
  $("learnt").textContent = "Learning …"; $("learnt").className = "";
  try {
    const told = await post("/strings/learn", {table: $("pairs").value});
    const share = told.left_out === null ? "" : `; ${(100 * told.left_out).toFixed(0)} % of them are right when left out`;
    $("learnt").textContent = `${told.pairs} pairs learnt${share}.`;
    if ($("ask").value) $("ask").oninput();
  } catch (problem) { $("learnt").textContent = problem.message; $("learnt").className = "error"; }
};
$("ask").oninput = async () => {
  const text = $("ask").value;
  if (!text) { $("answers").replaceChildren(); return; }
  let shown;
  try {
    const told = await post("/strings/answer", {text});
    shown = element("table");
    for (const [y, s] of told.best) { const row = element("tr"); row.append(element("td", y), element("td", s.toFixed(2))); shown.append(row); }
  } catch (problem) { shown = element("p", problem.message, {class: "error"}); }
  if ($("ask").value === text) $("answers").replaceChildren(shown);  // else a later question is on its way
};
