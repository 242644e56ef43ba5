// The style sheet of `report.html`, inside the page because the page loads nothing.
#pragma once

namespace rankwire {

inline constexpr const char* kReportStyle = R"css(
:root { --text: #1b1f24; --soft: #59636e; --page: #ffffff; --card: #f3f5f7; --line: #d0d7de;
  --compute: #4c78a8; --communication: #f58518; --reference-compute: #9ecae9; --reference-communication: #ffbf79; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9aa4ae; --page: #0f1419; --card: #1b222a; --line: #39424c;
    --compute: #6ba3d6; --communication: #ff9f43; --reference-compute: #36597a; --reference-communication: #8a5a24; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 2rem auto;
  max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0; }
h2 { font-size: 1.1rem; border-bottom: 1px solid var(--line); margin-top: 2rem; }
.note { color: var(--soft); }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; }
.card { background: var(--card); border-radius: .4rem; padding: .6rem .9rem; min-width: 8rem; }
.card span { display: block; color: var(--soft); font-size: .85rem; }
.card strong { font-size: 1.15rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
pre { background: var(--card); padding: 1rem; overflow-x: auto; }
svg text { font-size: 11px; fill: var(--text); } svg line { stroke: var(--line); }
.ec { fill: var(--compute); } .ex { fill: var(--communication); }
.rc { fill: var(--reference-compute); } .rx { fill: var(--reference-communication); }
@media print { body { margin: 0; max-width: none; } .wide { overflow: visible; } section { break-inside: auto; }
  tr { break-inside: avoid; } .card { border: 1px solid var(--line); } }
)css";

}  // namespace rankwire
