// Where operations stand in the timeline: lanes in which they follow each other, beneath each other by rank and side.
"use strict";

const laneHeight = 9, sideGap = 3, rankGap = 9, axisHeight = 20;
// Early receives overlap by the thousand; what finds no free lane shares the last.
const mostLanes = [2, 4];

/** Executions of one rank, side and activity that rarely overlap: `starts` rises, and `ends` has the latest end so far. */
class Lane {
  constructor(operations, side, activity, rows, height = laneHeight) {
    const { start, duration } = operations.sides[side];
    this.height = height;
    this.side = side;
    this.activity = activity;
    this.rows = Int32Array.from(rows);
    this.starts = Float64Array.from(this.rows, (row) => start[row]);
    let latest = 0;
    this.ends = Float64Array.from(this.rows, (row) => (latest = Math.max(latest, start[row] + duration[row])));
  }
}

/** Rows of one rank, side and activity in as few lanes as they need. */
function lanesOf(operations, side, activity, rows) {
  const { start, duration } = operations.sides[side];
  const lists = [], free = [];
  for (const row of rows) {
    let lane = free.findIndex((time) => time <= start[row]);
    if (lane < 0) lane = lists.length < mostLanes[activity] ? lists.push([]) - 1 : lists.length - 1;
    lists[lane].push(row);
    free[lane] = Math.max(free[lane] ?? 0, start[row] + duration[row]);
  }
  return lists.map((list) => new Lane(operations, side, activity, list));
}

/**
 * All lanes with their places: {blocks, height, blocksOf}; a block is a rank with {rank, top, bottom, sides: [{top, label,
 * lanes}]}, and `blocksOf` tells those that a row may be in.
 */
function layOut(operations) {
  let y = 0;
  const blocks = operations.ranks.map((rank) => {
    const block = { rank, top: y, sides: [] };
    operations.sides.forEach(({ label, start }, side) => {
      if (label === null) return;
      const rows = [];
      for (let row = rank.begin; row < rank.end; ++row) if (operations.isOn(row, side)) rows.push(row);
      rows.sort((a, b) => start[a] - start[b]);
      const lanes = [0, 1].flatMap((activity) =>
        lanesOf(operations, side, activity, rows.filter((row) => operations.kinds[operations.kind[row]][1] === activity)));
      const top = y;
      for (const lane of lanes) {
        lane.top = y;
        y += laneHeight;
      }
      block.sides.push({ top, label, lanes });
      y = Math.max(y, top + laneHeight) + sideGap;
    });
    block.bottom = y;
    y += rankGap;
    return block;
  });
  return { blocks, height: y, blocksOf: (row) => [blocks[operations.rankAt[row]]] };
}
