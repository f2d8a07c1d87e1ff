// The tab "Handwritten words".
let shelf = 0;
opened.words = showWords;
async function showWords() {
  const some = await post("/words/some", {seed: shelf++});
  quiet();
  $("source").textContent = some.source;
  $("shelf").replaceChildren(...some.words.map(word => {
    const box = element("button", undefined, {class: "word", "aria-label": `the word ${word.truth}`});
    box.append(...word.letters.map(rows => { const canvas = element("canvas"); paint(canvas, rows); return canvas; }));
    box.onclick = () => readWord(word);
    return box;
  }));
}
async function readWord(word) {
  $("reading").replaceChildren(element("p", "Reading … (the model is fitted for the first word, which takes some seconds)"));
  try {
    const read = await post("/words/read", {number: word.number});
    const table = element("table");
    const line = (title, ...cells) => { const row = element("tr"), cell = element("td"); cell.append(...cells); row.append(element("td", title), cell); table.append(row); };
    line("truth", element("b", word.truth, {id: "truth"}));
    line("letter by letter", element("bdi", read.alone, {id: "alone"}));
    line("among known words", ...read.words.flatMap(([w, s], i) => [i ? ", " : "", element("bdi", w, {class: "known"}), ` (${s.toFixed(2)})`]));
    $("reading").replaceChildren(table);
  } catch (problem) { $("reading").replaceChildren(element("p", problem.message, {class: "error"})); }
}
$("otherwords").onclick = showWords;
