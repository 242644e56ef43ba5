// The operations that the page has as data: columns of numbers, dictionaries of texts.
"use strict";

const digits = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach(
  (character, value) => (digits[character.charCodeAt(0)] = value));

/**
 * `length` numbers from their differences in base 64 VLQ: five bits a character, the lowest first, 32 says that more
 * follow, and the lowest bit of all is the sign. Doubles hold picoseconds of two and a half hours exactly.
 */
function decodeDifferences(text, length) {
  const numbers = new Float64Array(length);
  for (let i = 0, at = 0, sum = 0; i < length; ++i) {
    let digit = digits[text.charCodeAt(at++)];
    const negative = digit & 1;
    let value = (digit & 31) >> 1;
    for (let scale = 16; digit & 32; scale *= 32) {
      digit = digits[text.charCodeAt(at++)];
      value += (digit & 31) * scale;
    }
    sum += negative ? -value : value;
    numbers[i] = sum;
  }
  return numbers;
}

/** Each name shares its beginning with the one before it. */
function decodeNames({ shared, rest }) {
  const lengths = decodeDifferences(shared, rest.length);
  let before = "";
  return rest.map((end, i) => (before = before.slice(0, lengths[i]) + end));
}

/** Index of the first of `sorted` (from `low` on) that is above `limit`. */
function firstAbove(sorted, limit, low = 0, high = sorted.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The same near `low`: twice as far at each step, so that what is close is found at once. */
function nextAbove(sorted, limit, low) {
  let step = 1;
  while (low + step < sorted.length && sorted[low + step] <= limit) step *= 2;
  return firstAbove(sorted, limit, low, Math.min(low + step + 1, sorted.length));
}

/** With the largest unit that leaves at least 1, like the tables of the page. */
function formatTime(ps, significant = 4) {
  const units = [[1e12, "s"], [1e9, "ms"], [1e6, "us"], [1e3, "ns"], [1, "ps"]];
  const [size, unit] = units.find(([size]) => Math.abs(ps) >= size) ?? [1, "ps"];
  return `${Number((ps / size).toPrecision(significant))} ${unit}`;
}

function formatBytes(count) {
  const units = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
  const [size, unit] = units.find(([size]) => count >= size) ?? [1, "B"];
  return `${Number((count / size).toPrecision(4))} ${unit}`;
}

/** Names of one pattern differ in numbers only, but not in sizes. */
const patternOf = (name) => name.replace(/(size=[0-9]*)|[0-9]+|#/g, (number, size) => size ?? "#");

/** Executions by row, in order of (rank, start); a row has both sides of one. */
class Operations {
  constructor(data) {
    this.count = data.operations;
    this.leftOut = data.left_out;
    this.shortest = data.shortest_ps;
    this.end = data.end_ps;
    this.kinds = data.kinds; // [name, 0 of computing or 1 of communication]
    this.groups = data.groups;
    this.names = decodeNames(data.names);
    const column = (name) => decodeDifferences(data.columns[name], this.count);
    for (const name of ["rank", "name", "kind", "group", "iteration", "node", "bytes"]) this[name] = column(name);
    this.has = column("sides"); // 1 emulated, 2 reference, 3 both
    this.sides = ["emulated", "reference"].map((side, i) => ({
      label: data.sides[i], // null where the record has no such run
      start: column(`${side}_start`),
      duration: column(`${side}_duration`),
    }));
    this.ranks = data.ranks.map(([rank, label, color]) => ({ rank, label, color, begin: 0, end: 0 }));
    this.rankAt = new Int32Array(this.count); // by row: its place in `ranks`
    let at = 0;
    this.ranks.forEach((rank, place) => {
      rank.begin = at;
      while (at < this.count && this.rank[at] === rank.rank) this.rankAt[at++] = place;
      rank.end = at;
    });
  }

  isOn(row, side) {
    return (this.has[row] & (1 << side)) !== 0;
  }
  longest(row) {
    return Math.max(...[0, 1].map((side) => (this.isOn(row, side) ? this.sides[side].duration[row] : 0)));
  }
  nameOf(row) {
    return this.names[this.name[row]];
  }
  rankOf(row) {
    return this.ranks[this.rankAt[row]];
  }

  /** Row of one execution; -1 where the page has it not. */
  find(rank, iteration, node) {
    const rows = this.ranks.find((candidate) => candidate.rank === rank);
    for (let row = rows?.begin ?? 0; row < (rows?.end ?? 0); ++row) {
      if (this.node[row] === node && this.iteration[row] === iteration) return row;
    }
    return -1;
  }

  /** The longest execution that is of a pattern of names, and of a rank and iteration where those are known. */
  findLongest({ name, kind, rank, iteration }) {
    const wanted = this.names.map((candidate) => patternOf(candidate) === patternOf(name));
    let best = -1;
    for (let row = 0; row < this.count; ++row) {
      if (!wanted[this.name[row]] || this.kinds[this.kind[row]][0] !== kind) continue;
      if (rank !== undefined && this.rank[row] !== rank) continue;
      if (iteration !== undefined && this.iteration[row] !== iteration) continue;
      if (best < 0 || this.longest(row) > this.longest(best)) best = row;
    }
    return best;
  }

  /** By name: how many executions have it and which is the longest. Made when first asked for. */
  get byName() {
    if (this.cachedByName) return this.cachedByName;
    const list = this.names.map((name) => ({ name, count: 0, row: -1 }));
    for (let row = 0; row < this.count; ++row) {
      const entry = list[this.name[row]];
      ++entry.count;
      if (entry.row < 0 || this.longest(row) > this.longest(entry.row)) entry.row = row;
    }
    return (this.cachedByName = list);
  }
}

/** Those of an element of the page; null where it has none. */
function pageOperations(id = "operations", Kind = Operations) {
  const data = document.getElementById(id);
  const operations = data && new Kind(JSON.parse(data.textContent));
  return operations?.count > 0 ? operations : null;
}
