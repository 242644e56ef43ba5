// What headings and figures say of themselves when they are pointed at, as a list for fingers and paper, which do not hover.
"use strict";

/** In a fold at the end of the page; what is said twice in the same words once. */
function listMetrics() {
  const told = new Map();
  for (const head of document.querySelectorAll(".card[title], th[title], tr[title]")) {
    const name = head.matches("th") ? head.textContent : head.firstElementChild.textContent;
    const place = head.closest("section")?.querySelector("h2").textContent ?? "Result";
    const key = `${name}\n${head.title}`;
    if (!told.has(key)) told.set(key, { name, place, text: head.title });
  }
  const list = document.createElement("dl");
  for (const { name, place, text } of told.values()) {
    const term = document.createElement("dt"), words = document.createElement("dd"), where = document.createElement("small");
    where.textContent = place;
    term.append(name, " ", where);
    words.textContent = text;
    list.append(term, words);
  }
  const fold = document.createElement("details"), head = document.createElement("summary");
  fold.className = "metrics";
  head.textContent = "What the numbers mean";
  fold.append(head, list);
  document.body.append(fold);
  addEventListener("beforeprint", () => (fold.open = true));
}
