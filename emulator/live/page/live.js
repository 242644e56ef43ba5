// Shows what the server tells of a run. Names are other people's: they become text, never markup.
"use strict";

const token = new URLSearchParams(location.search).get("token") ?? "";
const colors = ["#4c78a8", "#f58518", "#3fa45b", "#d6606d", "#9b78c2", "#a97142", "#d67ab1", "#8a8f98"];
const shownFor = 300; // seconds of rates
const mostRows = 256; // of a table
const betweenReports = 15_000; // milliseconds
const byId = (id) => document.getElementById(id);

/** An element with text and children. */
function element(name, text, ...children) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  made.append(...children);
  return made;
}

/** With a prefix, three digits: "12.3 Gbit/s". */
function readable(value, unit) {
  const [factor, prefix] = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([size]) => value >= size) ?? [1, ""];
  const scaled = value / factor;
  return `${scaled >= 100 || factor === 1 ? scaled.toFixed(0) : scaled.toPrecision(3)} ${prefix}${unit}`;
}
const rate = (bits) => (bits === null ? "-" : readable(bits, "bit/s"));
const time = (seconds) => `${seconds.toFixed(1)} s`;
const short = (seconds) => (seconds < 1 ? `${(seconds * 1e3).toPrecision(3)} ms` : time(seconds));

/** Rates of some things over the last minutes, from what each has counted. */
class Rates {
  constructor(section) {
    this.section = section;
    this.canvas = section.querySelector("canvas");
    this.forget();
  }
  forget() {
    this.points = []; // {at, bits: by thing}
    this.last = null;
  }
  /** `at` in seconds of the run; `bytes` by thing. Bits a second since the call before; null before there was one. */
  add(at, bytes) {
    const last = this.last;
    if (last !== null && (at < last.at || bytes.length !== last.bytes.length)) this.forget();
    if (this.last !== null && at <= this.last.at) return this.points.at(-1)?.bits ?? null;
    const before = this.last;
    this.last = { at, bytes };
    if (before === null) return null;
    const bits = bytes.map((count, i) => Math.max(0, ((count - before.bytes[i]) * 8) / (at - before.at)));
    this.points.push({ at, bits });
    while (this.points[0].at < at - shownFor) this.points.shift();
    return bits;
  }
  /** Draws the busiest, at most as many as there are colours. */
  draw(names) {
    const sums = names.map((_, i) => this.points.reduce((sum, point) => sum + point.bits[i], 0));
    const shown = [...names.keys()].sort((a, b) => sums[b] - sums[a]).slice(0, colors.length).sort((a, b) => a - b);
    const legend = shown.map((i, color) => {
      const line = element("span", null);
      line.className = `line c${color}`;
      return element("span", null, line, `${names[i]} `);
    });
    if (shown.length < names.length) legend.push(` and ${names.length - shown.length} that had less`);
    this.section.querySelector(".legend").replaceChildren(...legend);
    this.drawLines(shown);
  }
  drawLines(shown) {
    const { canvas, points } = this, ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = width * ratio, canvas.height = height * ratio;
    const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    context.scale(ratio, ratio);
    context.font = "11px system-ui, sans-serif";
    const most = Math.max(1, ...points.map((point) => Math.max(0, ...shown.map((i) => point.bits[i]))));
    const to = points.at(-1)?.at ?? 1, from = Math.min(points[0]?.at ?? 0, Math.max(0, to - 10));
    const left = 4, top = 16, bottom = height - 16;
    const x = (at) => left + ((at - from) / (to - from)) * (width - 2 * left);
    const y = (bits) => bottom - (bits / most) * (bottom - top);
    context.strokeStyle = color("--line");
    context.strokeRect(left, top, width - 2 * left, bottom - top);
    context.fillStyle = color("--soft");
    context.fillText(points.length > 0 ? rate(most) : "no rates yet", left, 11);
    context.fillText(time(from), left, height - 3);
    context.textAlign = "right";
    context.fillText(time(to), width - left, height - 3);
    shown.forEach((i, place) => {
      context.strokeStyle = colors[place];
      context.lineWidth = 1.5;
      context.beginPath();
      for (const point of points) context.lineTo(x(point.at), y(point.bits[i]));
      context.stroke();
    });
  }
}

/** Which ranks were furthest behind, how often, by job. */
class LateRanks {
  constructor(section) {
    this.section = section;
    this.forget();
  }
  forget() {
    this.looks = new Map(); // by job: {all, of: by rank's name}
    this.at = null;
  }
  /** What was published once counts once. */
  show(run) {
    const late = run.jobs.filter((job) => job.late !== null);
    if (run.time_s !== this.at) late.forEach((job) => this.count(job));
    this.at = run.time_s;
    const told = run.ranks === 0 ? "Nothing is told of so many ranks." : "No rank is behind the median of its job.";
    byId("nobody-late").textContent = told;
    byId("nobody-late").hidden = late.length > 0;
    this.section.querySelector("table").hidden = late.length === 0;
    showRows(this.section, late.map((job) => [job.name, job.late.name, job.late.operation || "-",
      `at ${time(job.late.last_end_s)}, ${time(job.late.silent_s)} ago`,
      `${job.late.behind_operations} operations, ${short(job.late.behind_s)}`, this.mostOften(job.name)]));
  }
  count(job) {
    const looks = this.looks.get(job.name) ?? { all: 0, of: new Map() };
    looks.all += 1;
    looks.of.set(job.late.name, (looks.of.get(job.late.name) ?? 0) + 1);
    this.looks.set(job.name, looks);
  }
  mostOften(job) {
    const { all, of } = this.looks.get(job);
    const [name, times] = [...of].reduce((most, next) => (next[1] > most[1] ? next : most));
    return `${name}, ${times} of ${all} looks`;
  }
}

/** The report of the record so far, which is the page that the run leaves behind: drawn when it is asked for, and at the end. */
class Report {
  constructor(section) {
    this.frame = section.querySelector("iframe");
    this.asked = 0; // drawings that were asked for
    this.isWaiting = false;
    this.timer = undefined;
    byId("draw").addEventListener("click", () => this.draw());
    byId("redraw").addEventListener("change", ({ target }) => (target.checked ? this.draw() : clearTimeout(this.timer)));
    this.frame.addEventListener("load", () => this.loaded());
  }
  draw() {
    clearTimeout(this.timer);
    if (this.isWaiting) return;
    this.isWaiting = true;
    byId("drawn").textContent = "drawing";
    // Each with an address of its own: the frame would not load the same one again.
    this.frame.src = `report?token=${encodeURIComponent(token)}&drawing=${++this.asked}`;
    this.frame.hidden = false;
  }
  loaded() {
    if (!this.isWaiting) return;
    this.isWaiting = false;
    // What is not this server's has no document here: the browser's own words that it does not answer.
    const isThere = this.frame.contentDocument !== null;
    const when = this.hasEnded ? "of the whole run" : `drawn at ${new Date().toLocaleTimeString()}`;
    byId("drawn").textContent = isThere ? when : "the server does not answer; at its end the run leaves its report in its folder";
    if (!isThere) return;
    if (this.endsLater) return this.end();
    if (byId("redraw").checked) this.timer = setTimeout(() => this.draw(), betweenReports);
    // Who works with it keeps what there is.
    const inside = this.frame.contentWindow;
    for (const kind of ["pointerdown", "keydown", "wheel"]) inside?.addEventListener(kind, () => this.keep(), { passive: true });
  }
  keep() {
    if (!byId("redraw").checked || this.hasEnded) return;
    byId("redraw").checked = false;
    clearTimeout(this.timer);
    byId("drawn").textContent += "; it stays as it is while you work with it";
  }
  /** The last one, of the whole run. */
  end() {
    if (this.isWaiting) return (this.endsLater = true);
    this.endsLater = false;
    this.hasEnded = true;
    byId("draw").disabled = byId("redraw").disabled = true;
    this.draw();
  }
}

const report = new Report(byId("report"));
const lateRanks = new LateRanks(byId("late"));
const ports = new Rates(byId("ports")), jobs = new Rates(byId("jobs"));
let label = null; // of the run that the rates are of

/** What it is shows where it is pointed at. */
function card(title, value, beneath, what) {
  const made = element("div", null, element("span", title), element("strong", value), element("small", beneath));
  made.className = "card";
  made.title = what;
  return made;
}

function showCards(run) {
  const cards = [
    card("Operations", `${run.operations} of ${run.operations_planned}`, "executions that have ended",
      "executions of nodes of all ranks that have ended, of those that the run has"),
    card("In flight", String(run.in_flight), "communication operations",
      "communication operations of all ranks that have begun and not ended"),
    card("Messages", String(run.messages), "delivered", "messages delivered at their destination, all ports together"),
    card("Retransmitted", `${run.retransmitted} packets`, `${run.naks} NAKs, ${run.timeouts} time-outs`,
      "data packets sent again, sequence-error NAKs received, and expirations of retransmission timers"),
    card("Congestion", `${run.ecn_ce_rx} CE marks`, `${run.cnp_rx} CNPs, ${run.pause_rx} pause frames`,
      "packets received with ECN CE, congestion notification packets received, and PFC and PAUSE frames received"),
    card("Packets", String(run.packets_tx), `sent, ${run.packets_rx} received`,
      "RoCEv2 packets of all ports, acknowledgements included"),
  ];
  byId("cards").replaceChildren(...cards);
}

function showRows(section, rows) {
  const shown = rows.slice(0, mostRows).map((cells) => {
    const row = element("tr", null);
    cells.forEach((text, i) => {
      const cell = element("td", text);
      if (i > 0) cell.className = "n";
      row.append(cell);
    });
    return row;
  });
  if (rows.length > mostRows) shown.push(element("tr", null, element("td", `and ${rows.length - mostRows} more`)));
  section.querySelector("tbody").replaceChildren(...shown);
}

function showRun(run) {
  if (run.label !== label) {
    label = run.label;
    ports.forget();
    jobs.forget();
    lateRanks.forget();
  }
  showCards(run);
  const sent = ports.add(run.time_s, run.ports.flatMap((port) => [port.tx_bytes, port.rx_bytes]));
  ports.draw(run.ports.flatMap((port) => [`${port.name} sent`, `${port.name} received`]));
  showRows(ports.section, run.ports.map((port, i) => [port.name, rate(sent && sent[2 * i]), rate(sent && sent[2 * i + 1]),
    String(port.tx_packets), String(port.rx_packets)]));
  const names = run.jobs.map((job) => job.name);
  const delivered = jobs.add(run.time_s, run.jobs.map((job) => job.bytes));
  jobs.draw(names);
  showRows(jobs.section, run.jobs.map((job, i) => [names[i], rate(delivered && delivered[i]),
    `${job.iterations} of ${job.iterations_planned}`, readable(job.bytes, "B")]));
  lateRanks.show(run);
}

function showProgress(items) {
  byId("progress").replaceChildren(...items.map(({ label: name, done, total, share }) => {
    const bar = element("progress", null);
    bar.max = share === null ? Math.max(total, 1) : 1;
    bar.value = share === null ? done : share;
    const counts = `${done} of ${total} operations`;
    const text = share === null ? counts : `${Math.floor(100 * share)} % of the predicted time, ${counts}`;
    return element("div", null, element("span", `${name}: ${text}`), bar);
  }));
}

function showWaits(lines) {
  byId("nobody").hidden = lines.length > 0;
  byId("waits").replaceChildren(...lines.map((line) => {
    const colon = line.indexOf(": ");
    if (colon < 0) return element("li", line);
    const more = element("div", line.slice(colon + 2));
    more.className = "note";
    return element("li", null, element("span", line.slice(0, colon)), more);
  }));
}

function showEnd({ verdict, reason, folder }) {
  const box = byId("ended");
  box.className = `reason ${verdict === "ok" ? "good" : "bad"}`;
  box.replaceChildren(element("p", null, element("b", verdict), reason === "" ? "" : `: ${reason}`));
  if (folder !== "") {
    report.end();
    box.append(element("p", null, "The report is ", element("code", `${folder}/report.html`), "; this serves it: ",
      element("code", `rankwire view ${folder}`)));
  }
  box.hidden = false;
}

function show(state) {
  byId("name").textContent = state.name;
  document.title = `${state.name} · rankwire`;
  byId("state").textContent = state.state;
  byId("times").textContent = `${time(state.elapsed_s)} elapsed` +
    (state.run === null ? "" : `; ${state.run.label} run at ${time(state.run.time_s)}`);
  showProgress(state.progress);
  if (state.run !== null) showRun(state.run);
  showWaits(state.state === "ended" ? [] : state.waits);
  byId("stop").disabled = state.state !== "running";
  if (state.ended) showEnd(state.ended);
}

function listen() {
  const events = new EventSource(`events?page=1&token=${encodeURIComponent(token)}`);
  events.addEventListener("message", ({ data }) => {
    const state = JSON.parse(data);
    byId("lost").hidden = true;
    show(state);
    document.documentElement.dataset.updates = String(Number(document.documentElement.dataset.updates ?? 0) + 1);
    if (state.state === "ended") events.close();
  });
  events.addEventListener("error", () => {
    byId("lost").hidden = false;
    byId("state").textContent = "connection lost";
    byId("stop").disabled = true;
    // The browser itself comes back only after some errors.
    if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
  });
}

listen();

byId("stop").addEventListener("click", async () => {
  byId("stop").disabled = true;
  const told = byId("stop-told");
  told.textContent = "asking";
  try {
    const answer = await fetch("stop", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    told.textContent = answer.ok ? "The run ends with what it has measured." : `The server refused: ${answer.status}`;
  } catch {
    told.textContent = "The server does not answer.";
  }
});
