#include "emulator/record/plausibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/longest_time.h"
#include "base/message.h"
#include "emulator/record/database.h"

namespace rankwire {
namespace {

/// Of times, to either side of the begin.
constexpr int64_t kLongest = kLongestTold.ps;
/// Nodes of a rank are numbered without gaps, but for those that a record does not describe.
constexpr int64_t kUndescribedNodes = 1 << 20;

/// Numbers that runs write, and one beside them that says none of these.
struct Range {
  int64_t least, most;
  std::optional<int64_t> none = {};
};

/// How many there are of what other tables number.
struct Known {
  int64_t nodes;       ///< of all ranks
  int64_t jobs;        ///< at least one: a workload alone is job 0, without a row
  int64_t background;  ///< entries, numbered behind the jobs
  int64_t ranks;       ///< of the jobs
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

/// What is of jobs and of entries of the background, but where only jobs have it.
std::optional<Range> range_of_job(std::string_view table, std::string_view column, const Known& known) {
  constexpr std::string_view kOfJobs[] = {"jobs",          "jobs_alone",    "job_spans",
                                          "request_marks", "request_holds", "shared_links"};
  if (column != "job" && column != "other" && column != "follows") return std::nullopt;
  const int64_t all = known.jobs + known.background;
  if (table.starts_with("background")) return Range{known.jobs, all - 1};
  if (std::ranges::find(kOfJobs, table) != std::end(kOfJobs)) return Range{0, known.jobs - 1};
  return Range{0, all - 1, JobId::invalid().value};
}

/// Traces are of the jobs' ranks; behind these the traffic has others, at which the background begins and ends, and
/// switches that reduce.
std::optional<Range> range_of_rank(std::string_view table, std::string_view column, const Known& known) {
  constexpr std::string_view kColumns[] = {"rank", "source", "destination", "peer", "culprit"};
  constexpr std::string_view kOfTraces[] = {"nodes", "operations", "operation_causes", "rank_completion",
                                            "request_marks"};
  if (std::ranges::find(kColumns, column) == std::end(kColumns)) return std::nullopt;
  if (std::ranges::find(kOfTraces, table) != std::end(kOfTraces)) return Range{0, known.ranks - 1};
  return Range{0, MessageId::kMaxRanks - 1};
}

std::optional<Range> range_of(std::string_view table, std::string_view column, const Known& known) {
  // Sums over nodes, of as many at once as a rank may compute, end where no sum fits.
  if (table == "compute_times" && column == "time_ps") return Range{0, INT64_MAX};
  if (table == "compute_variation" && column.ends_with("_ps")) return Range{-INT64_MAX, INT64_MAX};
  if (column == "completion_ps" || column.ends_with("interval_ps")) return Range{0, kLongest};
  if (column.ends_with("_ps")) return Range{-kLongest, kLongest};
  if (column == "node") return Range{0, known.nodes + kUndescribedNodes};
  if (column == "sequence") return Range{0, MessageId::kMaxSequence - 1};
  if (const auto range = range_of_rank(table, column, known)) return range;
  if (const auto range = range_of_job(table, column, known)) return range;
  if (column == "first_rank" || column == "ranks") return Range{0, MessageId::kMaxRanks};
  if (is_amount(column) || (column == "value" && (table == "counters" || table == "details")))
    return Range{0, INT64_MAX};
  return std::nullopt;
}

struct Checked {
  std::string name;
  std::string wrong;    ///< condition of SQL for a row whose value no run writes; NULL for none
  std::string written;  ///< what runs write
};

struct Table {
  std::vector<std::string> key;  ///< columns that say which row it is
  std::vector<Checked> columns;
};

Checked within(const std::string& column, const Range& range) {
  const std::string none = range.none ? fmt::format(" AND \"{}\" <> {}", column, *range.none) : std::string();
  return {column, fmt::format("\"{}\" NOT BETWEEN {} AND {}{}", column, range.least, range.most, none),
          fmt::format("{} .. {}", range.least, range.most)};
}

Table described(const Database& database, const std::string& name, const Known& known) {
  Table table;
  const auto has = [&](const char* column) {
    return std::ranges::find(table.columns, column, &Checked::name) != table.columns.end();
  };
  Statement columns = database.prepare("SELECT name, pk FROM pragma_table_info(?)");
  for (columns.bind(name); columns.step();) {
    const std::string column = columns.text(0);
    if (columns.integer(1) > 0) table.key.push_back(column);
    if (const auto range = range_of(name, column, known)) table.columns.push_back(within(column, *range));
  }
  if (has("end_ps")) {
    for (const char* begin : {"begin_ps", "start_ps"})
      if (has(begin))
        table.columns.push_back({"end_ps", fmt::format("end_ps < {}", begin), fmt::format("no less than {}", begin)});
  }
  if (table.key.empty()) table.key.push_back("rowid");
  return table;
}

/// One pass for all of its columns. NULL is in every range, what is no number in none.
void require_plausible_table(const Database& database, const std::filesystem::path& file, const std::string& name,
                             const Table& table) {
  std::vector<std::string> wrong, read;
  for (const Checked& column : table.columns) {
    wrong.push_back(fmt::format("({})", column.wrong));
    read.push_back(fmt::format("\"{}\"", column.name));
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
  const Checked& column = table.columns[static_cast<size_t>(place)];
  fail_input("{}: table {}, row with {}: {} is {}, where runs write {}; the record is damaged or was changed",
             file.string(), name, fmt::join(key, ", "), column.name, rows.text_view(columns + place), column.written);
}

int64_t rows_of(const Database& database, const char* table) {
  const bool has =
      database.integer(fmt::format("SELECT count(*) FROM sqlite_master WHERE type='table' AND name='{}'", table)) > 0;
  return has ? database.integer(fmt::format("SELECT count(*) FROM {}", table)) : 0;
}

Known known_of(const Database& database) {
  constexpr int64_t kMostRanks = MessageId::kMaxRanks;
  // Before a run begins nothing says how many ranks there are.
  const int64_t ranks = database.integer("SELECT coalesce(max(ranks), 0) FROM runs");
  return {.nodes = rows_of(database, "nodes"),
          .jobs = std::max<int64_t>(rows_of(database, "jobs"), 1),
          .background = rows_of(database, "background"),
          .ranks = ranks > 0 ? std::min(ranks, kMostRanks) : kMostRanks};
}

}  // namespace

void require_plausible(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "run.sqlite";
  const Database database(file, Database::Access::kRead);
  const Known known = known_of(database);
  Statement tables = database.prepare("SELECT name FROM sqlite_master WHERE type='table'");
  while (tables.step()) {
    const std::string name = tables.text(0);
    const Table table = described(database, name, known);
    if (!table.columns.empty()) require_plausible_table(database, file, name, table);
  }
}

}  // namespace rankwire
