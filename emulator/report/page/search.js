// One field that finds what has a name: operations, ranks and ports, in the tables and in the timeline.
"use strict";

const mostFound = 60; // of tables and timeline each
const longestShown = 200; // characters of a result

/** Text with its direction kept to itself: names may be written from right to left. */
function isolated(text) {
  const element = document.createElement("bdi");
  element.textContent = text.length > longestShown ? text.slice(0, longestShown) + "…" : text;
  return element;
}

/** Rows of all tables that match, as {where, text, go}. */
function findInTables(tables, matches) {
  const found = [];
  for (const table of tables) {
    for (const row of table.rows) {
      if (!matches(table.textOf(row))) continue;
      const text = [...row.cells].map((cell) => cell.textContent).filter((cell) => cell !== "-" && cell !== "");
      found.push({ where: table.title, text: text.join(" · "), go: () => table.reveal(row) });
    }
  }
  return found;
}

/** Puts the field above the page. `timeline` may be null. */
function startSearch(tables, timeline) {
  const tools = document.createElement("search");
  tools.className = "tools";
  tools.innerHTML = `<input type="search" placeholder="find operations, ranks, ports ( / )"
    aria-label="Find operations, ranks and ports" aria-controls="found"><output id="count"></output>
    <ul id="found" hidden></ul>`;
  const [field, count, list] = tools.children;
  document.querySelector(".cards").before(tools);

  const show = () => {
    const query = field.value.trim();
    list.hidden = query === "";
    list.replaceChildren();
    count.textContent = "";
    if (query === "") return;
    const matches = matcher(query);
    const places = [timeline?.find(matches) ?? [], findInTables(tables, matches)];
    for (const { where, text, go } of places.flatMap((found) => found.slice(0, mostFound))) {
      const button = document.createElement("button");
      button.type = "button";
      const place = document.createElement("small");
      place.textContent = where;
      button.append(place, " ", isolated(text));
      button.addEventListener("click", () => {
        list.hidden = true;
        go();
      });
      const entry = document.createElement("li");
      entry.append(button);
      list.append(entry);
    }
    const all = places[0].length + places[1].length;
    const left = all - list.children.length;
    count.textContent = all === 0 ? "nothing" : `${all} found` + (left > 0 ? `, ${list.children.length} listed` : "");
  };
  // A page of many rows is not searched at every letter of a fast hand.
  let waiting = 0;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 80);
  });
  field.addEventListener("focus", () => (list.hidden = list.children.length === 0));
  tools.addEventListener("keydown", (event) => {
    const entries = [...list.querySelectorAll("button")];
    const at = entries.indexOf(document.activeElement);
    if (event.key === "Escape") {
      list.hidden = true;
      field.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = at + (event.key === "ArrowDown" ? 1 : -1);
      (entries[next] ?? field).focus();
      event.preventDefault();
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!tools.contains(event.target)) list.hidden = true;
  });
}
