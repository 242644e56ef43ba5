// Curves of the times of messages: one kind at a time, and what they say at one time.
"use strict";

const stepsOfAxis = 200; // that arrows make from one end to the other

class Curves {
  constructor(figure) {
    const data = JSON.parse(figure.dataset.curves);
    Object.assign(this, { figure, axis: data, at: null });
    this.curves = data.curves.map(({ run, count, points, place, time }) => (
      { run, count, places: decodeDifferences(place, points), times: decodeDifferences(time, points) }));
    this.plot = figure.querySelector(".wide");
    this.svg = figure.querySelector("svg");
    this.line = document.createElementNS(this.svg.namespaceURI, "line");
    this.line.setAttribute("class", "cursor");
    this.svg.append(this.line);
    this.told = element("div", "told");
    this.told.setAttribute("role", "status");
    figure.append(this.told);
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "application");
    this.plot.setAttribute("aria-label", `Times of messages, ${figure.dataset.kind}. Left and right move through time.`);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.tell(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.svg.viewBox.baseVal.width;
    this.tell(Math.min(Math.max((x - this.axis.left) / this.axis.width, 0), 1));
  }
  key(event) {
    const places = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return this.tell(null);
    if (!(event.key in places) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const by = (places[event.key] * (event.shiftKey ? 10 : 1)) / stepsOfAxis;
    this.tell(Math.min(Math.max((this.at ?? 0.5) + by, 0), 1));
  }

  /** What each curve has at a place of the axis, 0 to 1; nothing where it is null. */
  tell(at) {
    this.at = at;
    const { from_ps: from, to_ps: to, left, width, top, height } = this.axis;
    const ends = at === null ? [0, 0, 0, 0] : [left + at * width, top, left + at * width, top + height];
    ["x1", "y1", "x2", "y2"].forEach((name, i) => this.line.setAttribute(name, ends[i]));
    this.told.replaceChildren();
    if (at === null) return;
    const time = from * (to / from) ** at;
    const list = element("dl", "");
    for (const { run, count, places, times } of this.curves) {
      const behind = firstAbove(times, time);
      const part = behind === 0 ? 0 : places[behind - 1] / count;
      list.append(element("dt", "", run), element("dd", "", `${Number((100 * part).toPrecision(5))} % of ${count.toLocaleString("en")}`));
    }
    this.told.append(element("strong", "", `within ${formatTime(time)}`), list);
  }
}

/** Nothing where the page has no curves. */
function startTimes() {
  const place = document.getElementById("times");
  const all = [...(place?.querySelectorAll("figure") ?? [])].map((figure) => new Curves(figure));
  if (all.length < 2) return;
  const choice = document.createElement("select");
  choice.append(...all.map(({ figure }) => new Option(figure.dataset.kind)));
  const show = () => all.forEach(({ figure }, i) => (figure.hidden = i !== choice.selectedIndex));
  choice.addEventListener("change", show);
  place.prepend(element("label", "choice", "Messages of ", choice));
  show();
}
