#include "emulator/record/bulk_reader.h"

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "emulator/record/columns.h"
#include "emulator/record/record_version.h"
#include "emulator/record/table_pages.h"

namespace rankwire {
namespace {

using Visit = std::function<void(uint32_t run, const OperationRecord& row)>;
/// Visits one of several parts of the table, as often as it is called.
using Scan = std::function<void(size_t part, const Visit& visit)>;

Scan scan_of(const TablePages& pages, size_t parts) {
  const auto at = [&](const char* column) { return pages.column(column).value(); };
  return [&pages, parts, run = at("run"), iteration = at("iteration"), rank = at("rank"), node = at("node"),
          start = at("start_ps"), end = at("end_ps")](size_t part, const Visit& visit) {
    pages.for_each_row(pages.parts() * part / parts, pages.parts() * (part + 1) / parts, [&](const PageRow& row) {
      const auto small = [&](size_t column) { return static_cast<uint32_t>(row.integer(column)); };
      visit(small(run), {.rank = RankId(small(rank)),
                         .node = small(node),
                         .iteration = small(iteration),
                         .start = Time(row.integer(start)),
                         .end = Time(row.integer(end))});
    });
  };
}

Scan scan_of(const Database& database) {
  return [&database](size_t, const Visit& visit) {
    Statement rows = database.prepare("SELECT run, iteration, rank, node, start_ps, end_ps FROM operations");
    while (rows.step())
      visit(small(rows, 0), {.rank = RankId(small(rows, 2)),
                             .node = small(rows, 3),
                             .iteration = small(rows, 1),
                             .start = Time(rows.integer(4)),
                             .end = Time(rows.integer(5))});
  };
}

/// Puts each row at its place in memory that is taken once and as much as there is: first all are counted.
class ByRank {
 public:
  ByRank(std::span<const uint32_t> runs, size_t parts)
      : runs_(runs), next_(parts, std::vector<Ranks>(runs.size())), ends_(next_), all_(runs.size()) {}

  std::vector<RunExecutions> read(const Scan& scan, uint64_t most) && {
    in_threads([&](size_t part) {
      scan(part, [&, part](uint32_t run, const OperationRecord& row) {
        if (const auto i = place_of(run)) ++at(ends_[part][*i], row.rank);
      });
    });
    std::vector<std::future<void>> made;  // touching memory for the first time takes as long as a pass
    for (size_t i = 0; i < all_.size(); ++i)
      made.push_back(std::async(next_.size() > 1 ? std::launch::async : std::launch::deferred,
                                [this, i, most] { make_room(i, most); }));
    for (std::future<void>& run : made) run.get();
    in_threads([&](size_t part) {
      scan(part, [&, part](uint32_t run, const OperationRecord& row) {
        const auto i = place_of(run);
        if (!i || all_[*i].rows.empty()) return;
        uint32_t& next = at(next_[part][*i], row.rank);
        if (next >= at(ends_[part][*i], row.rank)) fail_input("run record: it changes while it is read");
        all_[*i].rows[next++] = row;
      });
    });
    return std::move(all_);
  }

 private:
  using Ranks = std::vector<uint32_t>;  ///< by RankId

  static uint32_t& at(Ranks& ranks, RankId rank) {
    if (ranks.size() <= rank.value) ranks.resize(rank.value + 1);
    return ranks[rank.value];
  }

  std::optional<size_t> place_of(uint32_t run) const {
    const auto place = std::ranges::find(runs_, run);
    if (place == runs_.end()) return std::nullopt;
    return static_cast<size_t>(place - runs_.begin());
  }

  template <class Of>
  void in_threads(Of of_part) {
    std::vector<std::future<void>> threads;
    for (size_t part = 1; part < next_.size(); ++part)
      threads.push_back(std::async(std::launch::async, [&of_part, part] { of_part(part); }));
    of_part(0);
    for (std::future<void>& thread : threads) thread.get();
  }

  /// From how many each rank has in each part to where they begin and end: of a rank those of the first part first.
  void make_room(size_t i, uint64_t most) {
    size_t ranks = 0;
    for (const auto& part : ends_) {
      ranks = std::max(ranks, part[i].size());
      for (const uint32_t rows : part[i]) all_[i].count += rows;
    }
    if (all_[i].count > most) return;
    all_[i].rows.resize(all_[i].count);
    uint32_t place = 0;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      for (size_t part = 0; part < ends_.size(); ++part) {
        at(next_[part][i], RankId(rank)) = place;
        place += at(ends_[part][i], RankId(rank));
        at(ends_[part][i], RankId(rank)) = place;
      }
  }

  const std::span<const uint32_t> runs_;
  std::vector<std::vector<Ranks>> next_, ends_;  ///< by part and run: places of rows
  std::vector<RunExecutions> all_;
};

void add_nodes(const TablePages& pages, const std::function<void(const CommunicatingNode&)>& visit) {
  const auto at = [&](const char* column) { return pages.column(column).value_or(PageRow::kMostColumns); };
  const size_t rank = at("rank"), node = at("node"), job = at("job"), kind = at("kind"), group = at("group"),
               sequence = at("sequence"), tag = at("tag"), peer = at("peer");
  pages.for_each_row(0, pages.parts(), [&](const PageRow& row) {
    const auto small = [&](size_t column) { return static_cast<uint32_t>(row.integer(column)); };
    const std::string_view of_group = row.text(group);
    const std::optional<int64_t> of = row.optional_integer(peer);
    if (of_group.empty() && !of) return;
    visit({.rank = RankId(small(rank)),
           .node = small(node),
           .job = JobId(small(job)),
           .kind = row.text(kind),
           .group = of_group,
           .sequence = small(sequence),
           .tag = small(tag),
           .peer = of ? RankId(static_cast<uint32_t>(*of)) : RankId::invalid()});
  });
}

}  // namespace

BulkReader::BulkReader(const std::filesystem::path& folder)
    : file_(folder / "run.sqlite"), database_(file_, Database::Access::kRead) {}

void BulkReader::for_each_communicating_node(const std::function<void(const CommunicatingNode&)>& visit) const {
  if (const auto pages = TablePages::open(file_, "nodes")) return add_nodes(*pages, visit);
  // A record of an earlier version may not have all of them.
  const auto or_else = [&](const char* column, const char* absent) {
    return column_or(database_, "nodes", column, absent);
  };
  const std::string peer = or_else("peer", "NULL");
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
  const std::filesystem::path file = folder / "run.sqlite";
  if (const std::optional<TablePages> pages = TablePages::open(file, "operations")) {
    constexpr size_t kMany = 8192;  // a million rows
    const size_t threads = pages->parts() > kMany ? 2 : 1;
    return ByRank(runs, threads).read(scan_of(*pages, threads), most);
  }
  Database database(file, Database::Access::kRead);
  database.execute("BEGIN");  // both passes see the same rows
  return ByRank(runs, 1).read(scan_of(database), most);
}

}  // namespace rankwire
