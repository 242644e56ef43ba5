// The style sheet of `report.html`, inside the page because the page loads nothing.
#pragma once

namespace rankwire {

inline constexpr const char* kReportStyle = R"css(
:root { --text: #1b1f24; --soft: #59636e; --page: #ffffff; --card: #f3f5f7; --line: #d0d7de; --bar: #f5851833;
  --good: #1a7f37; --doubtful: #9a6700; --bad: #cf222e;
  --compute: #4c78a8; --communication: #f58518; --reference-compute: #9ecae9; --reference-communication: #ffbf79; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6edf3; --soft: #9aa4ae; --page: #0f1419; --card: #1b222a; --line: #39424c; --bar: #ff9f4340;
    --good: #3fb950; --doubtful: #d29922; --bad: #ff7b72;
    --compute: #6ba3d6; --communication: #ff9f43; --reference-compute: #36597a; --reference-communication: #8a5a24; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 1.5rem auto;
  max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; overflow-wrap: anywhere; } h1 + p { margin-top: 0; }
h2 { font-size: 1.1rem; border-bottom: 1px solid var(--line); margin: 1.8rem 0 .6rem; }
.note { color: var(--soft); font-size: .85rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .6rem; }
.card { background: var(--card); border-radius: .4rem; padding: .5rem .8rem; border-left: .25rem solid var(--line); }
.card span, .card small { display: block; color: var(--soft); font-size: .8rem; }
.card strong { font-size: 1.1rem; }
.card.good, .reason.good { border-left-color: var(--good); } .card.good strong { color: var(--good); }
.card.doubtful, .reason.doubtful { border-left-color: var(--doubtful); }
.card.doubtful strong, .reason.doubtful b { color: var(--doubtful); }
.card.bad, .reason.bad { border-left-color: var(--bad); } .card.bad strong, .reason.bad b { color: var(--bad); }
.reason { background: var(--card); border-left: .25rem solid var(--line); border-radius: .4rem; margin: 1rem 0;
  padding: .6rem .9rem; max-height: 24rem; overflow-y: auto; overflow-wrap: anywhere; }
.reason p { margin: 0; } .reason ul { margin: .5rem 0 0; padding-left: 1.2rem; font-size: .9rem; }
.reason .note { font-family: ui-monospace, monospace; font-size: .78rem; }
.blame { margin-bottom: .3rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid var(--line);
  max-width: 26rem; overflow-wrap: break-word; }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
th.n { max-width: 9rem; } th.n, td.n { text-align: right; } td.n { white-space: nowrap; }
th:first-child, td:first-child { position: relative; padding-left: .4rem; }
.bar { position: absolute; left: 0; top: .15rem; bottom: .15rem; background: var(--bar); border-radius: .15rem; }
details { margin: .5rem 0; } summary { cursor: pointer; color: var(--soft); }
pre { background: var(--card); padding: 1rem; overflow-x: auto; }
svg { width: 100%; min-width: 45rem; max-width: 80rem; display: block; }
svg text { font-size: 11px; fill: var(--text); } svg line { stroke: var(--line); }
svg .tick { fill: var(--soft); text-anchor: middle; } svg .quantile { stroke: var(--bad); }
.key { display: inline-block; width: .9rem; height: .7rem; border-radius: .15rem; margin: 0 .3rem 0 .8rem; }
.key:first-child { margin-left: 0; }
.ec { fill: var(--compute); background: var(--compute); }
.ex { fill: var(--communication); background: var(--communication); }
.rc { fill: var(--reference-compute); background: var(--reference-compute); }
.rx { fill: var(--reference-communication); background: var(--reference-communication); }
.lost { fill: var(--bad); background: var(--bad); } svg .unit { fill: var(--soft); }
@media print { body { margin: 0; max-width: none; font-size: 12px; } .wide { overflow: visible; }
  .reason { max-height: none; overflow: visible; } svg { min-width: 0; } tr { break-inside: avoid; }
  .card { border: 1px solid var(--line); } }
)css";

}  // namespace rankwire
