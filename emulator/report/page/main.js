// Makes the page answer. Without scripts it shows the same, in tables that stand still and a picture.
"use strict";

const tables = pageTables();
startSearch(tables, startTimeline(tables));
startTimes();
startTraffic();
listMetrics();
