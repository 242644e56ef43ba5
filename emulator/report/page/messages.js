// The messages of operations: lines from who sends to who receives, in the timeline.
"use strict";

const mostLines = 400; // at a time, those that took longest
const nearLine = 4; // pixels beside a line that still mean it
const largeEnough = 0.4; // of what is seen: so long is an operation whose messages are drawn without being pointed at
const sharedBack = 4; // operations that start before another one in the same lane, and are looked at as well

/** Those of one side that the page has, in columns; `from` and `to` are rows of operations, -1 where the page has them not. */
class SideMessages {
  constructor({ messages, all, columns }) {
    this.count = messages;
    this.all = all;
    for (const [name, text] of Object.entries(columns)) this[name] = decodeDifferences(text, messages);
    this.ofRow = new Map();
    for (let i = 0; i < messages; ++i) {
      for (const row of [this.from[i], this.to[i]]) {
        if (row < 0) continue;
        if (!this.ofRow.has(row)) this.ofRow.set(row, []);
        this.ofRow.get(row).push(i);
      }
    }
  }
}

/** Null where the page has none. */
function pageMessages() {
  const data = document.getElementById("messages");
  const sides = data ? JSON.parse(data.textContent).map((side) => side && new SideMessages(side)) : [];
  return sides.some((side) => side !== null) ? sides : null;
}

/** The lane of a side that has the row, or undefined. */
function laneOf(operations, layout, row, side) {
  if (!operations.isOn(row, side)) return undefined;
  const time = operations.sides[side].start[row];
  return layout.blocksOf(row).flatMap(({ sides }) => sides.flatMap(({ lanes }) => lanes)).find((lane) => {
    if (lane.side !== side) return false;
    let at = firstAbove(lane.starts, time) - 1;
    while (at >= 0 && lane.starts[at] === time && lane.rows[at] !== row) --at;
    return at >= 0 && lane.starts[at] === time && lane.rows[at] === row;
  });
}

/**
 * Rows that are most of what is seen. Each of them is at work after a third of it, or after two, so that few are looked at
 * however many there are.
 */
function largeRows(operations, layout, view) {
  const span = view.to - view.from, found = new Set();
  for (const block of layout.blocks) {
    if (block.bottom < view.scroll || block.top > view.scroll + view.height - axisHeight) continue;
    for (const lane of block.sides.flatMap(({ lanes }) => lanes)) {
      const { start, duration } = operations.sides[lane.side];
      for (const time of [view.from + span / 3, view.from + (2 * span) / 3]) {
        const last = firstAbove(lane.starts, time) - 1;
        for (let at = last; at >= 0 && at > last - sharedBack; --at) {
          const row = lane.rows[at], from = Math.max(start[row], view.from), to = Math.min(start[row] + duration[row], view.to);
          if (to - from >= largeEnough * span) found.add(row);
        }
      }
    }
  }
  return found;
}

/** Lines of the messages of rows: {side, i, x, y: [of both ends]}, those that took longest, and of how many. */
function linesOf(operations, layout, view, messages, rows) {
  const scale = view.width / (view.to - view.from), blockOf = new Map(layout.blocks.map((block) => [block.rank.rank, block]));
  let wanted = [];
  messages.forEach((of, side) => {
    const seen = new Set(of ? [...rows].flatMap((row) => of.ofRow.get(row) ?? []) : []);
    for (const i of seen) {
      if (of.posted[i] < view.to && of.posted[i] + of.duration[i] > view.from) wanted.push({ side, i, duration: of.duration[i] });
    }
  });
  const all = wanted.length;
  if (all > mostLines) {
    const least = Float64Array.from(wanted, ({ duration }) => duration).sort()[all - mostLines];
    wanted = wanted.filter(({ duration }) => duration >= least).slice(0, mostLines);
  }
  const lines = [];
  for (const { side, i } of wanted) {
    const of = messages[side];
    const ends = [[of.from[i], of.source[i]], [of.to[i], of.destination[i]]].map(([row, rank]) => {
      const lane = row >= 0 ? laneOf(operations, layout, row, side) : undefined;
      if (lane) return [lane.top, lane.top + lane.height - 1];
      const top = blockOf.get(rank)?.sides.find(({ lanes }) => lanes[0]?.side === side)?.top;
      return top === undefined ? null : [top, top + laneHeight - 1];
    });
    if (ends.includes(null)) continue;
    const down = ends[0][0] < ends[1][0];
    const y = [ends[0][down ? 1 : 0], ends[1][down ? 0 : 1]].map((at) => at + axisHeight - view.scroll);
    const x = [of.posted[i], of.posted[i] + of.duration[i]].map((time) => view.left + (time - view.from) * scale);
    lines.push({ side, i, x, y });
  }
  return { lines, all };
}

/** A dot is where it arrives; red are those of which something was sent again. */
function drawMessages(context, view, messages, lines, colors) {
  context.save();
  context.beginPath();
  context.rect(view.left, axisHeight, view.width, view.height - axisHeight);
  context.clip();
  for (const { side, i, x, y } of lines) {
    context.strokeStyle = context.fillStyle = messages[side].retransmissions[i] > 0 ? colors.bad : colors.text;
    context.globalAlpha = 0.75;
    context.beginPath();
    context.moveTo(x[0], y[0]);
    context.lineTo(x[1], y[1]);
    context.stroke();
    context.beginPath();
    context.arc(x[1], y[1], 2, 0, 7);
    context.fill();
  }
  context.restore();
}

/** The line at a place of the canvas, or undefined. */
function lineAt(lines, x, y) {
  const distance = ({ x: [x0, x1], y: [y0, y1] }) => {
    const length = (x1 - x0) ** 2 + (y1 - y0) ** 2;
    const part = length > 0 ? Math.min(Math.max(((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length, 0), 1) : 0;
    return Math.hypot(x - x0 - part * (x1 - x0), y - y0 - part * (y1 - y0));
  };
  let nearest, least = nearLine;
  for (const line of lines) {
    const far = distance(line);
    if (far < least) [nearest, least] = [line, far];
  }
  return nearest;
}

/** What is known of a message, as elements. */
function describeMessage(operations, messages, { side, i }) {
  const of = messages[side];
  const labelOf = (rank) => operations.ranks.find((known) => known.rank === rank)?.label ?? `rank ${rank}`;
  const row = of.from[i] >= 0 ? of.from[i] : of.to[i];
  const line = element("div", "note", "message of ", isolated(operations.nameOf(row)), ` · ${formatBytes(of.bytes[i])}`);
  const list = element("dl", "", element("dt", "", operations.sides[side].label),
    element("dd", "", `${formatTime(of.duration[i])} from its post to its delivery, posted at ${formatTime(of.posted[i], 9)}`));
  const again = `${of.retransmissions[i]} packets sent again, ${of.marks[i]} CE marks`;
  if (of.retransmissions[i] > 0 || of.marks[i] > 0) list.append(element("dt", "", ""), element("dd", "", again));
  return [element("strong", "", `${labelOf(of.source[i])} to ${labelOf(of.destination[i])}`), line, list];
}
