// The tab "Your strings": a pasted table of two columns.
$("pairs").value = "nab\tNAB\nban\tBAN\nbanana\tBANANA\nan\tAN\ncab\tKSAB\nbac\tBAKS\nnac\tNAKS\ncan\tKSAN";
$("learn").onclick = async () => {
  $("learnt").textContent = "Learning …"; $("learnt").className = "";
  try {
    const answer = await post("/strings/learn", {table: $("pairs").value});
    const accuracy = answer.left_out === null ? "" : `; ${(100 * answer.left_out).toFixed(0)} % of them are right when left out`;
    $("learnt").textContent = `${answer.pairs} pairs learnt${accuracy}.`;
    if ($("ask").value) $("ask").oninput();
  } catch (problem) { $("learnt").textContent = problem.message; $("learnt").className = "error"; }
};
$("ask").oninput = async () => {
  const text = $("ask").value;
  if (!text) { $("answers").replaceChildren(); return; }
  let shown;
  try {
    const answer = await post("/strings/answer", {text});
    shown = element("table");
    for (const [y, s] of answer.best) { const row = element("tr"); row.append(element("td", y), element("td", s.toFixed(2))); shown.append(row); }
  } catch (problem) { shown = element("p", problem.message, {class: "error"}); }
  if ($("ask").value === text) $("answers").replaceChildren(shown);  // else a later question is being answered
};
