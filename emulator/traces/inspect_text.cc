// An inspection as text for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/report/format.h"
#include "emulator/traces/inspect.h"

namespace rankwire {
namespace {

constexpr size_t kMostOperations = 10, kMostGroups = 32, kListedRanks = 64;

std::string counts_text(const Inspection& inspection) {
  std::string text = fmt::format("{:<22} {:>10} {:>20}\n", "kind", "nodes", "bytes");
  for (const auto& [kind, tally] : inspection.kinds) {
    text += fmt::format("{:<22} {:>10} {:>20}\n", kind, tally.nodes, tally.bytes.count);
  }
  size_t shown = 0;
  for (const auto& [group, by_kind] : inspection.groups) {
    if (shown++ == 0) text += "\n";
    if (shown > kMostGroups) continue;
    for (const auto& [kind, tally] : by_kind) {
      text += fmt::format("group {:<16} {:<22} {:>10} {:>20}\n", group, kind, tally.nodes, tally.bytes.count);
    }
  }
  if (shown > kMostGroups) text += fmt::format("and {} more groups\n", shown - kMostGroups);
  if (!inspection.sizes.empty()) text += "\n";
  for (const auto& [kind, by_class] : inspection.sizes) {
    for (const auto& [low, tally] : by_class) {
      text += fmt::format("{:<22} {:>10} of {} and more\n", kind, tally.nodes, readable(Bytes(low)));
    }
  }
  return text;
}

std::string ranks_table(const Inspection& inspection) {
  std::string text =
      fmt::format("\n{:>6} {:>10} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", "rank", "nodes",
                  "collective", "sent", "received", "compute", "communic.", "exposed", "idle", "peak memory");
  for (size_t place = 0; place < inspection.ranks.size() && place < kListedRanks; ++place) {
    const RankInspection& rank = inspection.ranks[place];
    text += fmt::format("{:>6} {:>10} {:>12} {:>12} {:>12}", rank.rank, rank.nodes, readable(rank.traffic.collective),
                        readable(rank.traffic.sent), readable(rank.traffic.received));
    if (rank.times) {
      text += fmt::format(" {:>12} {:>12} {:>12} {:>12}", readable(rank.times->compute),
                          readable(rank.times->communication), readable(rank.times->exposed()),
                          readable(rank.times->idle.sum()));
    }
    if (rank.memory) text += fmt::format(" {:>12}", readable(rank.memory->peak));
    text += "\n";
  }
  if (inspection.ranks.size() > kListedRanks)
    text += fmt::format("and {} more ranks\n", inspection.ranks.size() - kListedRanks);
  return text + fmt::format("the rank with most bytes has {:.3f} times the mean\n", inspection.imbalance);
}

/// The first rows of a table of operations.
std::string operations_text(const OperationTable& table, const char* title) {
  if (table.operations().empty()) return "";
  std::string text = fmt::format("\n{:<22} {:>9} {:>12} {:>12} {:>12} {:>12} {:>12}\n", title, "count", "bytes", "min",
                                 "median", "max", "total");
  const auto rows = table.sorted();
  for (size_t i = 0; i < rows.size() && i < kMostOperations; ++i) {
    const auto& [key, tally] = rows[i];
    text += fmt::format("{:<22} {:>9} {:>12} {:>12} {:>12} {:>12} {:>12}  {:.60}\n", key->kind, tally->count,
                        readable(tally->bytes), readable(tally->least()), readable(tally->median()),
                        readable(tally->most()), readable(tally->total), key->name);
  }
  if (rows.size() > kMostOperations) text += fmt::format("and {} more\n", rows.size() - kMostOperations);
  return text;
}

std::string path_text(const Inspection& inspection) {
  if (inspection.path.empty()) return "";
  Duration covered;
  for (const PathNode& node : inspection.path) covered += node.span.duration();
  std::string text = fmt::format("\ncritical path: {} nodes, {} of {}\n", inspection.path.size(), readable(covered),
                                 readable(inspection.timing.end - Time(0)));
  for (const auto& [kind, duration] : path_by_kind(inspection)) {
    text += fmt::format("  {:<22} {:>12}\n", kind, readable(duration));
  }
  const OperationTable operations = path_operations(inspection);
  const auto rows = operations.sorted();
  for (size_t i = 0; i < rows.size() && i < kMostOperations; ++i) {
    text += fmt::format("  {:>12} in {:>5} x {:.90}\n", readable(rows[i].second->total), rows[i].second->count,
                        rows[i].first->name);
  }
  return text;
}

}  // namespace

std::string to_text(const Inspection& inspection) {
  std::string text = fmt::format("{}: {} ranks, {} nodes, {} dependencies\n\n", inspection.name,
                                 inspection.ranks.size(), inspection.nodes, inspection.dependencies);
  text += counts_text(inspection) + ranks_table(inspection);
  const Timing& timing = inspection.timing;
  if (timing.problem.empty()) {
    text +=
        timing.recorded ? "times are the recorded ones\n" : "times are those of an ideal schedule (docs/traces.md)\n";
    text += operations_text(inspection.communication, "communication");
    text += operations_text(inspection.operations, "operations");
    text += path_text(inspection);
  } else {
    text += fmt::format("no times: {}\n", timing.problem);
  }
  text += "\n";
  for (const std::string& remark : remarks(inspection)) text += fmt::format("* {}\n", remark);
  return text;
}

}  // namespace rankwire
