// Makes the page answer. Without scripts it shows the same, in tables that stand still and a picture.
"use strict";

const tables = pageTables();
const timeline = startTimeline(tables);
startSearch(tables, timeline);
startGap(timeline, startPaths(timeline));
startTimes();
startTraffic();
listMetrics();
