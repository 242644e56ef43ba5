#include "emulator/record/plausibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/message.h"
#include "emulator/record/database.h"

namespace rankwire {
namespace {

/// Longest time, 26 days to either side of the begin: sums and differences of a few of them are no overflow.
constexpr int64_t kLongest = int64_t{1} << 61;
/// Nodes of a rank are numbered without gaps, but for those that a record does not describe.
constexpr int64_t kUndescribedNodes = 1 << 20;

struct Range {
  int64_t least, most;
};

/// Columns that count something or are an amount of it. What devices and drivers count is not among them: some have all
/// ones where they count nothing.
bool is_amount(std::string_view column) {
  constexpr std::string_view kAmounts[] = {
      "accused",       "acknowledged",    "arrived",       "batches", "behind",   "count",     "delivered",
      "done",          "dropped",         "drops",         "failed",  "flows",    "forwarded", "iterations",
      "marked",        "marks",           "naks",          "nodes",   "not_done", "offered",   "packets",
      "posted",        "retransmissions", "retransmitted", "retries", "rnr_naks", "rows",      "timeouts",
      "unacknowledged"};
  constexpr std::string_view kEnds[] = {"_bps",    "_bytes",   "_dropped", "_errors", "_flows",  "_frames", "_lost",
                                        "_missed", "_refused", "_rx",      "_size",   "_tokens", "_tx"};
  return column.starts_with("bytes") || column.starts_with("messages") ||
         std::ranges::find(kAmounts, column) != std::end(kAmounts) ||
         std::ranges::any_of(kEnds, [&](std::string_view end) { return column.ends_with(end); });
}

std::optional<Range> range_of(std::string_view table, std::string_view column, int64_t nodes) {
  if (column == "completion_ps" || column.ends_with("interval_ps")) return Range{0, kLongest};
  if (column.ends_with("_ps")) return Range{-kLongest, kLongest};
  if (column == "node") return Range{0, nodes + kUndescribedNodes};
  if (column == "sequence") return Range{0, MessageId::kMaxSequence - 1};
  for (const std::string_view of_rank : {"rank", "source", "destination", "peer"})
    if (column == of_rank) return Range{0, MessageId::kMaxRanks - 1};
  if (column == "first_rank" || column == "ranks") return Range{0, MessageId::kMaxRanks};
  if (is_amount(column) || (column == "value" && (table == "counters" || table == "details")))
    return Range{0, INT64_MAX};
  // Elsewhere what is of no job has a number of its own.
  if (table == "jobs" && (column == "job" || column == "follows")) return Range{0, MessageId::kMaxJobs - 1};
  return std::nullopt;
}

struct Checked {
  std::string name;
  Range range;
};

struct Table {
  std::vector<std::string> key;  ///< columns that say which row it is
  std::vector<Checked> columns;
};

Table described(const Database& database, const std::string& name, int64_t nodes) {
  Table table;
  Statement columns = database.prepare("SELECT name, pk FROM pragma_table_info(?)");
  for (columns.bind(name); columns.step();) {
    const std::string column = columns.text(0);
    if (columns.integer(1) > 0) table.key.push_back(column);
    if (const auto range = range_of(name, column, nodes)) table.columns.push_back({column, *range});
  }
  if (table.key.empty()) table.key.push_back("rowid");
  return table;
}

/// One pass for all of its columns. NULL is in every range, what is no number in none.
void require_plausible_table(const Database& database, const std::filesystem::path& file, const std::string& name,
                             const Table& table) {
  std::vector<std::string> wrong, read;
  for (const auto& [column, range] : table.columns) {
    wrong.push_back(fmt::format("\"{}\" NOT BETWEEN {} AND {}", column, range.least, range.most));
    read.push_back(fmt::format("\"{}\"", column));
  }
  for (const std::string& column : table.key) read.push_back(fmt::format("\"{}\"", column));
  Statement rows = database.prepare(fmt::format("SELECT {}, {} FROM \"{}\" WHERE {} LIMIT 1", fmt::join(wrong, ", "),
                                                fmt::join(read, ", "), name, fmt::join(wrong, " OR ")));
  if (!rows.step()) return;
  const auto columns = static_cast<int>(table.columns.size());
  int place = 0;
  while (rows.integer(place) == 0) ++place;
  std::vector<std::string> key;
  for (size_t i = 0; i < table.key.size(); ++i)
    key.push_back(fmt::format("{} {}", table.key[i], rows.text_view(2 * columns + static_cast<int>(i))));
  const auto& [column, range] = table.columns[static_cast<size_t>(place)];
  fail_input("{}: table {}, row with {}: {} is {}, where runs write {} .. {}; the record is damaged or was changed",
             file.string(), name, fmt::join(key, ", "), column, rows.text_view(columns + place), range.least,
             range.most);
}

/// Jobs and entries of the background are numbered without gaps, those first, and nodes are of one of them.
void require_jobs(const Database& database, const std::filesystem::path& file) {
  const auto fail = [&](const std::string& what) {
    fail_input("{}: table jobs: {}; the record is damaged or was changed", file.string(), what);
  };
  const auto has = [&](const char* table) {
    return database.integer(fmt::format("SELECT count(*) FROM sqlite_master WHERE type='table' AND name='{}'", table)) >
           0;
  };
  if (!has("jobs")) return;
  const int64_t jobs = database.integer("SELECT count(*) FROM jobs");
  if (jobs > 0 && database.integer("SELECT max(job) FROM jobs") != jobs - 1)
    fail(fmt::format("{} rows, but the last is job {}", jobs, database.integer("SELECT max(job) FROM jobs")));
  const int64_t others = has("background") ? database.integer("SELECT count(*) FROM background") : 0;
  const int64_t last = database.integer("SELECT coalesce(max(job), 0) FROM nodes");
  if (last >= std::max<int64_t>(jobs, 1) + others)
    fail(fmt::format("{} rows, but there are nodes of job {}", jobs, last));
}

}  // namespace

void require_plausible(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "run.sqlite";
  const Database database(file, Database::Access::kRead);
  const int64_t nodes = database.integer("SELECT count(*) FROM nodes");
  Statement tables = database.prepare("SELECT name FROM sqlite_master WHERE type='table'");
  while (tables.step()) {
    const std::string name = tables.text(0);
    const Table table = described(database, name, nodes);
    if (!table.columns.empty()) require_plausible_table(database, file, name, table);
  }
  require_jobs(database, file);
}

}  // namespace rankwire
