// Draws the timeline into its canvas.
"use strict";

const colorNames = [["--compute", "--communication", "--wait"],
  ["--reference-compute", "--reference-communication", "--wait"]]; // the last of critical paths alone

/** Black or white, whichever is read more easily on a colour "#rrggbb". */
function readableOn(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 115 ? "#000000" : "#ffffff";
}

/** What the style sheet says now: it changes with the scheme of the screen. */
function pageColors() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const bars = colorNames.map((side) => side.map(color));
  return {
    bars, names: bars.map((side) => side.map(readableOn)),
    text: color("--text"), soft: color("--soft"), page: color("--page"), line: color("--line"), bad: color("--bad"),
  };
}

/** Whole multiples of 1, 2 or 5 times a power of ten, at most one in 90 pixels, with texts that tell them apart. */
function ticksOf(view) {
  const least = ((view.to - view.from) / view.width) * 90;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= least) ?? 10 * power;
  const [unit, name] = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]].find(
    ([size]) => view.to >= size) ?? [1, "ps"];
  const decimals = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
  const ticks = [];
  for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
    ticks.push([time, `${(time / unit).toFixed(decimals)} ${name}`]);
  }
  return ticks;
}

/**
 * One lane. What is narrower than a pixel is drawn together with its neighbours, and the next that is seen is found by
 * binary search: the work is that of the pixels, however many operations there are.
 */
function drawLane(context, operations, lane, view, y, colors) {
  const { start, duration } = operations.sides[lane.side];
  const perPixel = (view.to - view.from) / view.width;
  context.fillStyle = colors.bars[lane.side][lane.activity];
  const names = [];
  let runStart = 0, runEnd = -1; // pixels of operations that are too narrow to be told apart
  const flush = () => {
    if (runEnd > runStart) context.fillRect(view.left + runStart, y, runEnd - runStart, lane.height - 1);
    runEnd = -1;
  };
  for (let i = firstAbove(lane.ends, view.from); i < lane.rows.length && lane.starts[i] < view.to; ) {
    const row = lane.rows[i];
    const from = Math.max((start[row] - view.from) / perPixel, 0);
    const to = Math.min((start[row] + duration[row] - view.from) / perPixel, view.width);
    if (to - from >= 2) {
      context.fillRect(view.left + from, y, to - from - 0.5, lane.height - 1);
      if (to - from > 50) names.push([row, from, to]);
      ++i;
      continue;
    }
    const pixel = Math.floor(from);
    if (runEnd < pixel) {
      flush();
      runStart = pixel;
    }
    runEnd = Math.min(pixel + 1, view.width);
    i = Math.max(i + 1, nextAbove(lane.ends, view.from + (pixel + 1) * perPixel, i));
  }
  flush();
  context.fillStyle = colors.names[lane.side][lane.activity];
  for (const [row, from, to] of names) {
    const name = operations.nameOf(row);
    const room = Math.floor((to - from - 6) / 5);
    context.fillText(name.length > room ? name.slice(0, room - 1) + "…" : name, view.left + from + 3, y + lane.height / 2);
  }
}

function drawAxis(context, view, colors) {
  context.fillStyle = colors.page;
  context.fillRect(0, 0, view.left + view.width, axisHeight);
  context.fillStyle = colors.soft;
  context.textAlign = "center";
  for (const [time, text] of ticksOf(view)) {
    const x = view.left + ((time - view.from) / (view.to - view.from)) * view.width;
    const half = context.measureText(text).width / 2;
    if (x + half < view.left + view.width && x - half > 0) context.fillText(text, x, axisHeight / 2);
  }
  context.textAlign = "left";
}

/** Everything. `view` has times from and to, left and width of the plot, height of the canvas and its scroll. */
function drawTimeline(context, operations, layout, view, marked, colors) {
  context.fillStyle = colors.page;
  context.fillRect(0, 0, view.left + view.width, view.height);
  context.strokeStyle = colors.line;
  context.beginPath();
  for (const [time] of ticksOf(view)) {
    const x = Math.round(view.left + ((time - view.from) / (view.to - view.from)) * view.width) + 0.5;
    context.moveTo(x, axisHeight);
    context.lineTo(x, view.height);
  }
  context.stroke();
  context.textBaseline = "middle";
  for (const block of layout.blocks) {
    const offset = axisHeight - view.scroll;
    if (block.bottom + offset < axisHeight || block.top + offset > view.height) continue;
    if (block.rank.color) {
      context.fillStyle = block.rank.color;
      context.fillRect(0, block.top + offset, 3, block.bottom - block.top - sideGap);
    }
    for (const side of block.sides) {
      context.font = "8px system-ui, sans-serif";
      for (const lane of side.lanes) drawLane(context, operations, lane, view, lane.top + offset, colors);
      context.font = "11px system-ui, sans-serif";
      context.fillStyle = colors.text;
      const label = view.left > 100 ? `${block.rank.label} ${side.label}` : block.rank.label;
      if (view.left > 100 || side === block.sides[0]) {
        context.fillText(label, 7, side.top + offset + (side.lanes[0]?.height ?? laneHeight) / 2 + 1, view.left - 10);
      }
    }
  }
  drawMarks(context, operations, layout, view, marked, colors);
  context.font = "11px system-ui, sans-serif";
  drawAxis(context, view, colors);
  const room = view.height - axisHeight;
  if (layout.height > room) {
    context.fillStyle = colors.soft;
    context.fillRect(view.left + view.width - 3, axisHeight + (view.scroll / layout.height) * room, 3,
      Math.max((room / layout.height) * room, 8));
  }
}

/** Frames of what is pointed at or chosen, on both sides. */
function drawMarks(context, operations, layout, view, marked, colors) {
  for (const row of new Set(marked)) {
    if (row < 0) continue;
    operations.sides.forEach(({ start, duration }, side) => {
      const lane = laneOf(operations, layout, row, side);
      if (!lane) return;
      const scale = view.width / (view.to - view.from);
      const from = Math.max((start[row] - view.from) * scale, -2);
      const to = Math.min((start[row] + duration[row] - view.from) * scale, view.width + 2);
      if (to < 0 || from > view.width) return;
      context.strokeStyle = colors.bad;
      context.lineWidth = 2;
      context.strokeRect(view.left + from, lane.top + axisHeight - view.scroll - 1, Math.max(to - from, 2), lane.height + 1);
      context.lineWidth = 1;
    });
  }
}
