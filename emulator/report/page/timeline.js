// The timeline that zooms and pans to single operations, by wheel, fingers, keys and from the tables.
"use strict";

const nearEnough = 3; // pixels beside an operation that still mean it
const clickSlack = 4; // pixels that a hand moves between pressing and releasing

function element(tag, className, ...content) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...content);
  return made;
}

class Timeline {
  constructor(operations, place, layout = layOut(operations), what = "operations", messages = null) {
    this.operations = operations;
    this.layout = layout;
    this.what = what;
    this.messages = messages; // by side
    this.lines = []; // of messages, as they are drawn
    this.view = { from: 0, to: operations.end, left: 120, width: 100, height: 100, scroll: 0 };
    this.hovered = this.chosen = -1;
    this.pointers = new Map();
    this.colors = pageColors();
    this.build(place);
    this.listen();
  }

  build(place) {
    const button = (text, title, act) => {
      const made = element("button", "", text);
      made.type = "button";
      made.title = title;
      made.addEventListener("click", act);
      return made;
    };
    this.range = element("output", "range");
    this.canvas = element("canvas", "");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", `Timeline of ${this.what}. Plus and minus zoom, arrows move, 0 shows all; the ` +
      "search field and the tables above and below lead to single operations.");
    this.tip = element("div", "tip");
    this.tip.hidden = true;
    this.told = element("div", "told");
    this.told.setAttribute("role", "status");
    const bar = element("div", "bar-of-tools", button("+", "zoom in (+)", () => this.zoom(0.5)),
      button("−", "zoom out (-)", () => this.zoom(2)), button("all", "show all (0)", () => this.reset()), this.range);
    const note = element("p", "note", "Wheel or +/- zoom, dragging or arrows move, a double click shows all.");
    if (this.operations.leftOut > 0) {
      const all = this.operations.count + this.operations.leftOut;
      note.append(` ${this.operations.count.toLocaleString("en")} of ${all.toLocaleString("en")} ${this.what} are here, ` +
        `the longest; none shorter than ${formatTime(this.operations.shortest)}.`);
    }
    if (this.messages) note.append(this.aboutMessages());
    this.root = element("div", "moving", note, bar, element("div", "plot", this.canvas, this.tip), this.told);
    place.prepend(this.root);
    this.context = this.canvas.getContext("2d", { alpha: false });
  }

  listen() {
    const { canvas } = this;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    this.resize();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colors = pageColors();
      this.draw();
    });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => this.hover(null));
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth;
    const height = Math.min(this.layout.height + axisHeight, Math.max(240, Math.round(innerHeight * 0.62)));
    const ratio = devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const left = width < 600 ? 56 : 130;
    Object.assign(this.view, { left, width: Math.max(width - left, 10), height });
    this.scrollTo(this.view.scroll);
  }

  /** Once a frame, whatever happens in between. */
  draw() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      drawTimeline(this.context, this.operations, this.layout, this.view, [this.hovered, this.chosen], this.colors);
      const { from, to } = this.view;
      this.range.textContent = `${formatTime(from, 9)} to ${formatTime(to, 9)}, ${formatTime(to - from)} wide`;
      if (this.messages) this.drawMessages();
    });
  }
  /** Of what is pointed at, chosen, or most of what is seen. */
  drawMessages() {
    const rows = largeRows(this.operations, this.layout, this.view);
    for (const row of [this.hovered, this.chosen]) if (row >= 0) rows.add(row);
    const { lines, all } = linesOf(this.operations, this.layout, this.view, this.messages, rows);
    this.lines = lines;
    drawMessages(this.context, this.view, this.messages, lines, this.colors);
    if (all > 0) this.range.append(`; messages: ${all > mostLines ? `${mostLines} of ${all}, the slowest` : all}`);
  }
  aboutMessages() {
    const there = this.messages.flatMap((of, side) => (of
      ? [`${of.count.toLocaleString("en")} of ${of.all.toLocaleString("en")} of the ${this.operations.sides[side].label}`] : []));
    return " Lines are messages, from the sender to a dot at the receiver, of the operation that is pointed at or chosen, or is " +
      `most of what is seen; the slowest are here: ${there.join(", ")}. Of red ones something was sent again.`;
  }

  /** Shows the times from `from` on, as long as `length` lets, within those of the run. */
  show(from, length) {
    const { end } = this.operations;
    const span = Math.min(Math.max(length, this.view.width), end); // a pixel is a picosecond at least
    this.view.from = Math.min(Math.max(from, 0), end - span);
    this.view.to = this.view.from + span;
    this.draw();
  }
  timeAt(x) {
    const { from, to, left, width } = this.view;
    return from + ((x - left) / width) * (to - from);
  }
  /** What is at `x` stays there. */
  zoom(factor, x = this.view.left + this.view.width / 2) {
    const time = this.timeAt(x), { from, to } = this.view;
    const length = Math.min(Math.max((to - from) * factor, this.view.width), this.operations.end);
    this.show(time - ((time - from) / (to - from)) * length, length);
  }
  pan(pixels) {
    const { from, to, width } = this.view;
    this.show(from + (pixels / width) * (to - from), to - from);
  }
  scrollTo(y) {
    this.view.scroll = Math.min(Math.max(y, 0), Math.max(this.layout.height + axisHeight - this.view.height, 0));
    this.draw();
  }
  reset() {
    this.show(0, this.operations.end);
  }

  wheel(event) {
    const isAll = this.view.to - this.view.from >= this.operations.end;
    if (event.shiftKey) this.scrollTo(this.view.scroll + (event.deltaY || event.deltaX));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX);
    // Who has seen all wants to get on with the page.
    else if (event.deltaY > 0 && isAll) return;
    else this.zoom(Math.exp(Math.min(Math.max(event.deltaY, -200), 200) * 0.003), event.offsetX);
    event.preventDefault();
  }
  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    this.pressed = [event.offsetX, event.offsetY];
    this.moved = false;
  }
  move(event) {
    const now = [event.offsetX, event.offsetY], before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(event);
    this.pointers.set(event.pointerId, now);
    if (this.pointers.size === 1) {
      this.moved ||= Math.hypot(now[0] - this.pressed[0], now[1] - this.pressed[1]) > clickSlack;
      if (!this.moved) return;
      this.tip.hidden = true;
      this.pan(before[0] - now[0]);
      this.scrollTo(this.view.scroll + before[1] - now[1]);
      return;
    }
    // Of two fingers the other one rests, and what is beneath both stays there.
    this.moved = true;
    const [id] = [...this.pointers.keys()].filter((other) => other !== event.pointerId);
    const [other] = this.pointers.get(id);
    this.zoom(Math.max(Math.abs(before[0] - other), 5) / Math.max(Math.abs(now[0] - other), 5), other);
  }
  release(event) {
    if (!this.pointers.delete(event.pointerId) || this.moved || event.type !== "pointerup") return;
    this.choose(this.hit(event.offsetX, event.offsetY).row);
  }
  key(event) {
    const step = this.view.width / 5;
    const actions = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), _: () => this.zoom(2),
      0: () => this.reset(), Home: () => this.reset(), Escape: () => this.choose(-1),
      ArrowLeft: () => this.pan(-step), ArrowRight: () => this.pan(step),
      ArrowUp: () => this.scrollTo(this.view.scroll - 40), ArrowDown: () => this.scrollTo(this.view.scroll + 40),
    };
    if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    actions[event.key]();
  }

  /** The longest operation at a place of the canvas, -1 where there is none, and how many are so close together. */
  hit(x, y) {
    const nothing = { row: -1, count: 0 };
    if (x < this.view.left || y < axisHeight) return nothing;
    const at = y - axisHeight + this.view.scroll;
    const block = this.layout.blocks.find(({ top, bottom }) => top <= at && at < bottom);
    const lanes = block?.sides.flatMap(({ lanes }) => lanes).filter(({ top, height }) => top <= at && at < top + height) ?? [];
    if (lanes.length === 0) return nothing;
    const { start, duration } = this.operations.sides[lanes[0].side];
    const candidates = (slack) => {
      const from = this.timeAt(x - slack), to = this.timeAt(x + slack), found = { row: -1, count: 0 };
      for (const lane of lanes) {
        for (let i = firstAbove(lane.ends, from); i < lane.rows.length && lane.starts[i] <= to; ++i) {
          const row = lane.rows[i];
          if (start[row] + duration[row] < from) continue;
          ++found.count;
          if (found.row < 0 || duration[row] > duration[found.row]) found.row = row;
        }
      }
      return found;
    };
    const exact = candidates(0.5);
    return exact.row < 0 ? candidates(nearEnough) : exact;
  }

  hover(event) {
    const { row, count } = event && event.pointerType !== "touch" ? this.hit(event.offsetX, event.offsetY) : { row: -1 };
    const line = event && row < 0 ? lineAt(this.lines, event.offsetX, event.offsetY) : undefined;
    this.tip.hidden = row < 0 && !line;
    if (!this.tip.hidden) {
      this.tip.replaceChildren(...(line ? describeMessage(this.operations, this.messages, line) : this.describe(row)));
      if (count > 1) this.tip.append(element("p", "note", `the longest of ${count} here; zoom in to tell them apart`));
      const room = this.canvas.parentElement.clientWidth - this.tip.offsetWidth;
      this.tip.style.left = `${Math.max(Math.min(event.offsetX + 12, room), 0)}px`;
      this.tip.style.top = `${event.offsetY + 16}px`;
    }
    if (row !== this.hovered) {
      this.hovered = row;
      this.draw();
    }
  }

  choose(row) {
    this.chosen = row;
    this.told.replaceChildren(...(row < 0 ? [] : this.describe(row)));
    this.draw();
  }
  say(text) {
    this.told.replaceChildren(element("p", "note", text));
  }

  /** What is known of an operation, as elements. */
  describe(row) {
    const { operations } = this;
    const what = [operations.kinds[operations.kind[row]][0], isolated(operations.groups[operations.group[row]] || "no group")];
    if (operations.bytes[row] > 0) what.push(formatBytes(operations.bytes[row]));
    what.push(operations.rankOf(row).label, `iteration ${operations.iteration[row]}`, `node ${operations.node[row]}`);
    const list = element("dl", "");
    const times = [];
    operations.sides.forEach(({ label, start, duration }, side) => {
      if (label === null || !operations.isOn(row, side)) return;
      times.push(duration[row]);
      list.append(element("dt", "", label),
        element("dd", "", `${formatTime(duration[row])}, from ${formatTime(start[row], 9)} on`));
    });
    if (times.length === 2) {
      const extra = times[0] - times[1];
      const ratio = times[1] > 0 ? `, ratio ${(times[0] / times[1]).toFixed(3)}` : "";
      list.append(element("dt", "", "difference"), element("dd", "", `${extra > 0 ? "+" : ""}${formatTime(extra)}${ratio}`));
    }
    const line = element("div", "note");
    what.forEach((part, i) => line.append(i > 0 ? " · " : "", part));
    operations.sides.forEach(({ label }, side) => {
      const of = this.messages?.[side], own = of?.ofRow.get(row);
      if (!own) return;
      const sent = own.filter((i) => of.from[i] === row).length;
      list.append(element("dt", "", `messages, ${label}`), element("dd", "", `${sent} sent, ${own.length - sent} received, of those that are here`));
    });
    return [element("strong", "", isolated(operations.nameOf(row))), line, list];
  }

  /** Brings the timeline to a rank. */
  goToRank(rank) {
    const block = this.layout.blocks.find((candidate) => candidate.rank === rank);
    this.scrollTo(block.top - (this.view.height - axisHeight) / 3);
    this.root.scrollIntoView({ block: "start" });
    this.canvas.focus({ preventScroll: true });
  }
  /** Brings it to an operation, a fifth of what is seen long. */
  goTo(row) {
    const { operations } = this;
    const sides = [0, 1].filter((side) => operations.isOn(row, side));
    const from = Math.min(...sides.map((side) => operations.sides[side].start[row]));
    const to = Math.max(...sides.map((side) => operations.sides[side].start[row] + operations.sides[side].duration[row]));
    const length = Math.max(to - from, 1) * 5;
    this.goToRank(operations.rankOf(row));
    this.show(from - (length - (to - from)) / 2, length);
    this.choose(row);
  }

  /** Ranks and names that match, as {where, text, go}. */
  find(matches) {
    const ranks = this.operations.ranks
      .filter(({ rank, label }) => matches(`${label} rank ${rank}`.toLowerCase()))
      .map((rank) => ({ where: "Timeline", text: rank.label, go: () => this.goToRank(rank) }));
    const names = this.operations.byName.filter(({ name }) => matches(name.toLowerCase()))
      .map(({ name, count, row }) => {
        const text = `${name} · ${count > 1 ? `longest of ${count}: ` : ""}${formatTime(this.operations.longest(row))}`;
        return { where: "Timeline", text: `${text}, ${this.operations.rankOf(row).label}`, go: () => this.goTo(row) };
      });
    return [...ranks, ...names];
  }
}

/** Makes the rows of a table lead to their operations. */
function linkRows(table, timeline) {
  const column = Math.max(table.names.indexOf("Operation"), 0);
  for (const row of table.rows) {
    const { operation, name, kind, rank, iteration } = row.dataset;
    if (operation === undefined && !name) continue;
    const number = (text) => (text === undefined ? undefined : Number(text));
    const find = () => (operation === undefined
      ? timeline.operations.findLongest({ name, kind, rank: number(rank), iteration: number(iteration) })
      : timeline.operations.find(...operation.split(",").map(Number)));
    const button = element("button", "jump", ...row.cells[column].childNodes);
    button.type = "button";
    button.title = "show in the timeline";
    button.addEventListener("click", () => {
      const found = find();
      if (found >= 0) return timeline.goTo(found);
      timeline.say("This operation is not among those of the timeline.");
      timeline.told.scrollIntoView({ block: "center" });
    });
    row.cells[column].append(button);
  }
}

/** Null where the page has no operations. */
function startTimeline(tables) {
  const operations = pageOperations();
  if (operations === null) return null;
  const place = document.getElementById("timeline");
  place.classList.add("live");
  const timeline = new Timeline(operations, place, layOut(operations), "operations", pageMessages());
  for (const table of tables) linkRows(table, timeline);
  return timeline;
}
