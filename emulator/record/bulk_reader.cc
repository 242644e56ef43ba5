#include "emulator/record/bulk_reader.h"

#include <algorithm>
#include <future>

#include "emulator/record/columns.h"

namespace rankwire {
namespace {

/// Rows [first, last] of the table.
struct RowRange {
  int64_t first, last;
};

std::vector<RunExecutions> read_part(const std::filesystem::path& folder, std::span<const uint32_t> runs, uint64_t most,
                                     RowRange range) {
  const Database database(folder / "run.sqlite", Database::Access::kRead);
  std::vector<RunExecutions> parts(runs.size());
  // Mostly runs have as many rows each; memory that grows is touched twice.
  const auto share = static_cast<uint64_t>(range.last - range.first + 1) / runs.size();
  for (RunExecutions& part : parts) part.rows.reserve(std::min(share, most));
  Statement rows = database.prepare(
      "SELECT run, iteration, rank, node, start_ps, end_ps FROM operations WHERE rowid BETWEEN ? AND ?");
  for (rows.bind(range.first, range.last); rows.step();) {
    const auto run = std::ranges::find(runs, small(rows, 0));
    if (run == runs.end()) continue;
    RunExecutions& part = parts[static_cast<size_t>(run - runs.begin())];
    if (++part.count > most) {
      part.rows = {};
      continue;
    }
    part.rows.push_back({.rank = RankId(small(rows, 2)),
                         .node = small(rows, 3),
                         .iteration = small(rows, 1),
                         .start = Time(rows.integer(4)),
                         .end = Time(rows.integer(5))});
  }
  return parts;
}

}  // namespace

BulkReader::BulkReader(const std::filesystem::path& folder)
    : database_(folder / "run.sqlite", Database::Access::kRead) {}

void BulkReader::for_each_communicating_node(const std::function<void(const CommunicatingNode&)>& visit) const {
  // A record of an earlier version may not have all of them.
  const auto or_else = [&](const char* column, const char* absent) {
    const std::string known = fmt::format("SELECT count(*) FROM pragma_table_info('nodes') WHERE name='{}'", column);
    return database_.integer(known) > 0 ? column : absent;
  };
  const char* const peer = or_else("peer", "NULL");
  Statement rows = database_.prepare(fmt::format(
      "SELECT rank, node, job, kind, \"group\", {}, {}, {} FROM nodes WHERE \"group\"<>'' OR {} IS NOT NULL "
      "ORDER BY rank, node",
      or_else("sequence", "0"), or_else("tag", "0"), peer, peer));
  while (rows.step()) {
    const auto of = rows.optional_integer(7);
    visit({.rank = RankId(small(rows, 0)),
           .node = small(rows, 1),
           .job = JobId(small(rows, 2)),
           .kind = rows.text_view(3),
           .group = rows.text_view(4),
           .sequence = small(rows, 5),
           .tag = small(rows, 6),
           .peer = of ? RankId(static_cast<uint32_t>(*of)) : RankId::invalid()});
  }
}

std::vector<JobId> BulkReader::jobs_of_ranks() const {
  std::vector<JobId> jobs;
  Statement first = database_.prepare("SELECT rank, job FROM nodes WHERE rank>=? ORDER BY rank, node LIMIT 1");
  // Ranks without nodes have the job of those behind them.
  for (first.bind(uint32_t{0}); first.step(); first.bind(static_cast<uint32_t>(jobs.size()))) {
    jobs.resize(small(first, 0) + 1, JobId(small(first, 1)));
    first.reset();
  }
  return jobs;
}

std::vector<RunExecutions> read_executions(const std::filesystem::path& folder, std::span<const uint32_t> runs,
                                           uint64_t most) {
  if (runs.empty()) return {};
  const Database database(folder / "run.sqlite", Database::Access::kRead);
  const int64_t last = database.integer("SELECT ifnull(max(rowid), 0) FROM operations");
  constexpr int64_t kLarge = 1'000'000;
  const int64_t threads = last > kLarge ? 2 : 1;
  std::vector<std::future<std::vector<RunExecutions>>> parts;
  for (int64_t part = 0; part < threads; ++part) {
    const RowRange range{.first = last * part / threads + 1, .last = last * (part + 1) / threads};
    parts.push_back(std::async(threads > 1 ? std::launch::async : std::launch::deferred,
                               [&folder, runs, most, range] { return read_part(folder, runs, most, range); }));
  }
  std::vector<RunExecutions> all(runs.size());
  for (auto& part : parts) {
    std::vector<RunExecutions> read = part.get();
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].count += read[i].count;
      if (all[i].rows.empty()) {
        all[i].rows = std::move(read[i].rows);
      } else {
        all[i].rows.insert(all[i].rows.end(), read[i].rows.begin(), read[i].rows.end());
      }
      if (all[i].count > most) all[i].rows = {};
    }
  }
  return all;
}

}  // namespace rankwire
