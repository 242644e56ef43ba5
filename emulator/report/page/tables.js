// Tables that sort by a click on a heading and are filtered by a field above them.
"use strict";

const rowsWithoutFilter = 10; // a table of so many is seen at once
const collator = new Intl.Collator("en", { numeric: true });

/** What a cell sorts by: the exact value that it carries, else the number that its text begins with, else the text. */
function sortKey(cell) {
  const text = cell.textContent.trim();
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  if (text === "" || text === "-") return null;
  if (!cell.classList.contains("n")) return text;
  // "a:3", a rank of a job, begins with no number.
  const number = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?(?=$|\s)/.exec(text);
  return number ? Number(number[0]) : text;
}

/** Numbers before texts; "-" is last in either direction, because nothing is known of it. */
function compareKeys(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a !== typeof b) return (typeof a === "string") - (typeof b === "string");
  return direction * (typeof a === "number" ? a - b : collator.compare(a, b));
}

/** Whether lower-case `text` has all words of `query`. A number stands for itself: "rank 3" is not in "rank 31". */
function matcher(query) {
  const words = query.toLowerCase().match(/(rank|port)\s+\S+|\S+/g) ?? [];
  const patterns = words.map((word) => {
    const escaped = word.replace(/\s+/, " ").replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
    return new RegExp((/^\d/.test(word) ? "(?<!\\d)" : "") + escaped + (/\d$/.test(word) ? "(?!\\d)" : ""), "u");
  });
  return (text) => patterns.every((pattern) => pattern.test(text));
}

/** One table: `rows` are as the page had them, `title` is the heading of its section. */
class PageTable {
  constructor(table) {
    this.table = table;
    this.body = table.tBodies[0];
    this.heads = [...table.tHead.rows[0].cells];
    this.rows = [...this.body.rows];
    this.title = table.closest("section")?.querySelector("h2")?.textContent ?? "";
    this.names = this.heads.map((head) => head.textContent);
    this.sorted = null; // the heading by which the rows are sorted
    for (const head of this.heads) this.makeSortable(head);
    if (this.rows.length > rowsWithoutFilter) this.addFilter();
  }

  /** A button in the heading is reached by the keyboard and known to screen readers. */
  makeSortable(head) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    if (head.title) button.setAttribute("aria-description", head.title);
    head.append(button);
    button.addEventListener("click", () => this.sortBy(head));
  }

  /** Texts rise first and numbers fall first: the largest are what one looks for. A third click restores the order. */
  sortBy(head) {
    const column = this.heads.indexOf(head);
    const first = head.classList.contains("n") ? "descending" : "ascending";
    const second = first === "ascending" ? "descending" : "ascending";
    const before = head.getAttribute("aria-sort");
    const order = before === null ? first : before === first ? second : null;
    this.sorted?.removeAttribute("aria-sort");
    this.sorted = order === null ? null : head;
    let rows = this.rows;
    if (order !== null) {
      head.setAttribute("aria-sort", order);
      const direction = order === "ascending" ? 1 : -1;
      const keyed = rows.map((row) => [sortKey(row.cells[column]), row]);
      rows = keyed.sort((a, b) => compareKeys(a[0], b[0], direction)).map(([, row]) => row);
    }
    this.body.append(...rows);
  }

  addFilter() {
    const line = document.createElement("p");
    line.className = "filter";
    this.field = document.createElement("input");
    this.field.type = "search";
    this.field.placeholder = "filter rows";
    this.field.setAttribute("aria-label", `Filter rows of ${this.title}`);
    this.shown = document.createElement("output");
    line.append(this.field, " ", this.shown);
    this.table.parentElement.before(line);
    this.field.addEventListener("input", () => this.filter(this.field.value));
  }

  filter(query) {
    const matches = matcher(query);
    let shown = 0;
    for (const row of this.rows) {
      row.hidden = !matches(this.textOf(row));
      if (!row.hidden) ++shown;
    }
    this.shown.textContent = query.trim() === "" ? "" : `${shown} of ${this.rows.length} rows`;
    // What is asked for shall not hide behind the first rows.
    if (query.trim() !== "") this.table.classList.remove("short");
  }

  /** What a row is found by, in lower case: its texts, and what the numbers of ranks and the names of ports are. */
  textOf(row) {
    row.findable ??= [...row.cells]
      .map((cell, i) => {
        const what = /\brank\b/i.test(this.names[i]) ? "rank " : /\bport\b/i.test(this.names[i]) ? "port " : "";
        return what + cell.textContent;
      })
      .join(" · ").toLowerCase();
    return row.findable;
  }

  /** Makes a row seen, and tells where it is. */
  reveal(row) {
    if (row.hidden) {
      this.field.value = "";
      this.filter("");
    }
    this.table.classList.remove("short");
    for (let outer = row.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    row.scrollIntoView({ block: "center" });
    document.querySelector("tr.found")?.classList.remove("found");
    row.classList.add("found");
  }
}

/** The rows that the page hides in details become part of the table before them, so that they sort together. */
function unfold(folded) {
  const [first, rest] = folded.querySelectorAll("table");
  const details = folded.querySelector("details");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "more";
  button.textContent = details.querySelector("summary").textContent;
  first.tBodies[0].append(...rest.tBodies[0].rows);
  first.classList.add("short");
  details.replaceWith(button);
  button.addEventListener("click", () => first.classList.remove("short"));
  // Others open it, too.
  new MutationObserver(() => (button.hidden = !first.classList.contains("short"))).observe(first, {
    attributeFilter: ["class"],
  });
}

function pageTables() {
  document.querySelectorAll(".folded").forEach(unfold);
  return [...document.querySelectorAll(".wide > table")].map((table) => new PageTable(table));
}
