// Who sent how much to whom: a matrix of colours that tells the values of its cells, by pointer and by arrows.
"use strict";

const largestMatrix = 640; // pixels of a side
const faintest = 0.18; // opacity of the cell with the least, as in the picture without scripts

/** Cells row by row; `logarithm` is the place of each between the least (0) and the most (1), negative where there is none. */
class Traffic {
  constructor(data) {
    this.labels = data.labels;
    this.blocks = data.labels.length;
    this.wire = new Float64Array(this.blocks ** 2);
    this.local = new Float64Array(this.blocks ** 2);
    const [places, wire, local] = ["place", "wire", "local"].map((name) => decodeDifferences(data[name], data.cells));
    places.forEach((place, i) => {
      this.wire[place] = wire[i];
      this.local[place] = local[i];
    });
    const sent = Float64Array.from(places, (place) => this.bytes(place)).sort();
    [this.least, this.most] = [sent[0], sent[sent.length - 1]];
    const range = Math.log(this.most / this.least);
    this.logarithm = new Float64Array(this.blocks ** 2).fill(-1);
    for (const place of places) {
      this.logarithm[place] = range > 0 ? Math.log(this.bytes(place) / this.least) / range : 1;
    }
    this.from = new Float64Array(this.blocks);
    this.to = new Float64Array(this.blocks);
    for (const place of places) {
      this.from[Math.floor(place / this.blocks)] += this.bytes(place);
      this.to[place % this.blocks] += this.bytes(place);
    }
    this.total = this.from.reduce((sum, bytes) => sum + bytes, 0);
  }
  bytes(place) {
    return this.wire[place] + this.local[place];
  }
}

class TrafficView {
  constructor(traffic, place) {
    this.traffic = traffic;
    this.pointed = this.chosen = null; // [source, destination]
    this.canvas = element("canvas", "");
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-label", "Matrix of payload from row to column. Arrows move from cell to cell.");
    this.told = element("div", "told");
    this.told.setAttribute("role", "status");
    const note = element("p", "note", "Rows send, columns receive. Pointing at a cell or arrows tell its value, a click keeps it.");
    place.prepend(element("div", "moving", note, element("div", "plot", this.canvas), this.told));
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.listen();
  }

  listen() {
    const { canvas } = this;
    // In the next frame, because the height follows the width, and an observer must not change what it observes.
    new ResizeObserver(() => {
      if (canvas.parentElement.clientWidth !== this.size.width) requestAnimationFrame(() => this.resize());
    }).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.resize());
    canvas.addEventListener("pointermove", (event) => this.point(this.cellAt(event)));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("click", (event) => this.choose(this.cellAt(event)));
    canvas.addEventListener("keydown", (event) => this.key(event));
    this.resize();
  }

  resize() {
    const style = getComputedStyle(document.documentElement);
    this.colors = { ...pageColors(), heat: style.getPropertyValue("--heat").trim() };
    const width = this.canvas.parentElement.clientWidth;
    const ratio = devicePixelRatio || 1;
    this.context.font = "11px system-ui, sans-serif";
    const longest = Math.max(...this.traffic.labels.map((label) => this.context.measureText(label).width));
    this.margin = Math.min(Math.ceil(longest) + 12, width < 600 ? 64 : 130);
    this.side = Math.max(Math.min(width - this.margin - 4, largestMatrix), 40);
    const height = this.margin + this.side + 28;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.size = { width, height };
    this.paint();
    this.draw();
  }

  /** One pixel a cell; it is stretched when it is drawn. */
  paint() {
    const { blocks, logarithm } = this.traffic;
    this.cells = new OffscreenCanvas(blocks, blocks);
    const image = new ImageData(blocks, blocks);
    const channels = [1, 3, 5].map((at) => parseInt(this.colors.heat.slice(at, at + 2), 16));
    logarithm.forEach((part, place) => {
      const opacity = part < 0 ? 0 : faintest + (1 - faintest) * part;
      image.data.set([...channels, Math.round(opacity * 255)], place * 4);
    });
    this.cells.getContext("2d").putImageData(image, 0, 0);
  }

  draw() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.drawNow();
    });
  }

  drawNow() {
    const { context, colors, margin, side, traffic } = this;
    context.fillStyle = colors.page;
    context.fillRect(0, 0, this.size.width, this.size.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.cells, margin, margin, side, side);
    context.strokeStyle = colors.line;
    context.strokeRect(margin - 0.5, margin - 0.5, side + 1, side + 1);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.drawLabels();
    this.drawScale(margin + side + 8);
    for (const cell of [this.chosen, this.pointed]) {
      if (cell === null) continue;
      const size = side / traffic.blocks, [source, destination] = cell;
      context.strokeStyle = colors.bad;
      context.lineWidth = 2;
      const [x, y] = [margin + destination * size, margin + source * size];
      context.strokeRect(x - 1, y - 1, Math.max(size, 3) + 2, Math.max(size, 3) + 2);
      context.lineWidth = 1;
      context.fillStyle = colors.bad;
      context.fillRect(margin - 4, y, 3, Math.max(size, 2));
      context.fillRect(x, margin - 4, Math.max(size, 2), 3);
    }
  }

  /** As many as there is room for. */
  drawLabels() {
    const { context, colors, margin, side, traffic } = this;
    const size = side / traffic.blocks;
    const step = Math.ceil(14 / size);
    context.fillStyle = colors.text;
    for (let block = 0; block < traffic.blocks; block += step) {
      const middle = margin + (block + 0.5) * size;
      context.textAlign = "right";
      context.fillText(this.fitting(block), margin - 6, middle);
      context.save();
      context.translate(middle, margin - 6);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(this.fitting(block), 0, 0);
      context.restore();
    }
    context.textAlign = "left";
    context.fillStyle = colors.soft;
    context.fillText("from \\ to", 0, 8);
  }
  fitting(block) {
    const label = this.traffic.labels[block], room = this.margin - 10;
    if (this.context.measureText(label).width <= room) return label;
    let length = Math.min(label.length, 40);
    while (length > 1 && this.context.measureText(`${label.slice(0, length)}…`).width > room) --length;
    return `${label.slice(0, length)}…`;
  }

  drawScale(y) {
    const { context, colors, margin, traffic } = this;
    for (let x = 0; x < 100; ++x) {
      context.globalAlpha = faintest + (1 - faintest) * (x / 99);
      context.fillStyle = colors.heat;
      context.fillRect(margin + x, y, 1, 12);
    }
    context.globalAlpha = 1;
    context.fillStyle = colors.soft;
    context.fillText(`${formatBytes(traffic.least)} to ${formatBytes(traffic.most)}, logarithmic`, margin + 106, y + 6);
  }

  /** The cell beneath the pointer, null where there is none. */
  cellAt(event) {
    const at = (offset) => Math.floor(((offset - this.margin) / this.side) * this.traffic.blocks);
    const cell = [at(event.offsetY), at(event.offsetX)];
    return cell.every((block) => block >= 0 && block < this.traffic.blocks) ? cell : null;
  }
  point(cell) {
    if (String(cell) === String(this.pointed)) return;
    this.pointed = cell;
    this.tell();
  }
  choose(cell) {
    this.chosen = cell;
    this.tell();
  }
  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key === "Escape") return this.choose(null);
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const last = this.traffic.blocks - 1;
    const by = steps[event.key].map((step) => step * (event.shiftKey ? 10 : 1));
    this.choose(this.chosen === null ? [0, 0] : this.chosen.map((block, i) => Math.min(Math.max(block + by[i], 0), last)));
  }

  /** What is pointed at, else what was chosen. */
  tell() {
    const cell = this.pointed ?? this.chosen;
    this.told.replaceChildren(...(cell === null ? [] : this.describe(cell)));
    this.draw();
  }
  describe([source, destination]) {
    const { traffic } = this;
    const place = source * traffic.blocks + destination, bytes = traffic.bytes(place);
    const exact = (count) => (count < 1024 ? formatBytes(count) : `${formatBytes(count)} (${count.toLocaleString("en")} B)`);
    const line = element("strong", "", isolated(traffic.labels[source]), " to ", isolated(traffic.labels[destination]), ": ",
      bytes === 0 ? "nothing" : exact(bytes));
    const list = element("dl", "");
    const add = (term, ...text) => list.append(element("dt", "", term), element("dd", "", ...text));
    if (bytes > 0) add("of all", `${((100 * bytes) / traffic.total).toPrecision(4)} %`);
    if (traffic.local[place] > 0) add("local", exact(traffic.local[place]));
    add("whole row", isolated(traffic.labels[source]), ` sends ${formatBytes(traffic.from[source])}`);
    add("whole column", isolated(traffic.labels[destination]), ` receives ${formatBytes(traffic.to[destination])}`);
    return [line, list];
  }
}

/** Nothing where the page has no matrix. */
function startTraffic() {
  const place = document.getElementById("traffic");
  if (place === null) return;
  place.classList.add("live");
  new TrafficView(new Traffic(JSON.parse(place.dataset.matrix)), place);
}
