// The critical paths of both sides, one beneath the other, in a timeline of their own.
"use strict";

const pathHeight = 26, pathGap = 12;

/** Steps, and the times between them, which are of kind "wait" and stand for the step that follows. */
class PathSteps extends Operations {
  constructor(data) {
    super(data);
    const facts = JSON.parse(document.getElementById("path-facts").textContent);
    this.ports = new Map(facts.ports);
    this.slack = new Map(facts.slack.map(([name, kind, group, least, median]) => (
      [PathSteps.pattern(name, kind, group), { least, median }])));
  }
  static pattern(name, kind, group) {
    return [patternOf(name), kind, patternOf(group)].join("\n");
  }

  /** 0 computes, 1 communicates, 2 waits: the colours of a side. */
  activityOf(row) {
    const [kind, activity] = this.kinds[this.kind[row]];
    return kind === "wait" ? 2 : activity;
  }
  /** Of a step; what is waited for before it has the same numbers. */
  find(rank, iteration, node) {
    const rows = this.ranks.find((candidate) => candidate.rank === rank);
    for (let row = rows?.begin ?? 0; row < (rows?.end ?? 0); ++row) {
      if (this.node[row] === node && this.iteration[row] === iteration && this.activityOf(row) < 2) return row;
    }
    return -1;
  }
  /** Of others of the step's pattern, or undefined. */
  slackOf(row) {
    return this.slack.get(PathSteps.pattern(this.nameOf(row), this.kinds[this.kind[row]][0], this.groups[this.group[row]]));
  }
}

/** A lane for each side, in which each activity has a list of its own: steps never overlap. */
function layOutPaths(operations) {
  let y = 0;
  const blocks = [];
  operations.sides.forEach(({ label, start }, side) => {
    const rows = [[], [], []];
    for (let row = 0; row < operations.count; ++row) if (operations.isOn(row, side)) rows[operations.activityOf(row)].push(row);
    if (rows.every((list) => list.length === 0)) return;
    const lanes = rows.map((list, activity) => {
      const lane = new Lane(operations, side, activity, list.sort((a, b) => start[a] - start[b]), pathHeight);
      lane.top = y;
      return lane;
    });
    blocks.push({ rank: { label, color: "" }, top: y, bottom: y + pathHeight, sides: [{ top: y, label: "", lanes }] });
    y += pathHeight + pathGap;
  });
  return { blocks, height: y, blocksOf: () => blocks };
}

class PathView extends Timeline {
  constructor(steps, place, timeline) {
    super(steps, place, layOutPaths(steps), "steps");
    this.timeline = timeline;
    this.root.querySelector(".note").append(" A click leads to the operation in the timeline of all.");
  }

  describe(row) {
    const { operations } = this;
    const [name, line, list] = super.describe(row);
    const add = (term, text) => list.append(element("dt", "", term), element("dd", "", text));
    const port = operations.ports.get(operations.rankOf(row).rank);
    if (port !== undefined) list.append(element("dt", "", "port"), element("dd", "", isolated(port)));
    if (operations.activityOf(row) === 2) {
      name.prepend("between operations, before ");
      return [name, line, list];
    }
    const others = operations.slackOf(row);
    add("slack", "none, as of all that is on the path" +
      (others ? `; operations of its pattern ${formatTime(others.median)} in the median, ${formatTime(others.least)} at least` : ""));
    return [name, line, list];
  }

  choose(row) {
    super.choose(row);
    if (row < 0 || !this.timeline) return;
    const { rank, iteration, node } = this.operations;
    const found = this.timeline.operations.find(rank[row], iteration[row], node[row]);
    if (found >= 0) this.timeline.goTo(found);
    else this.told.append(element("p", "note", "This operation is not among those of the timeline of all."));
  }

  goToRank() {
    this.root.scrollIntoView({ block: "start" });
    this.canvas.focus({ preventScroll: true });
  }
}

/** Null where the page has no path. */
function startPaths(timeline) {
  const steps = pageOperations("path-steps", PathSteps);
  if (steps === null) return null;
  const place = document.getElementById("paths");
  place.classList.add("live");
  return new PathView(steps, place, timeline);
}
