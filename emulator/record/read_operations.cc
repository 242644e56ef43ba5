// RunReader's view of the executions.
#include <map>
#include <tuple>
#include <utility>

#include "emulator/record/columns.h"
#include "emulator/record/node_lookup.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

/// Walks the nodes in order of (rank, node) beside executions in the same order, and starts again when those do: a step
/// costs a tenth of a look-up.
class NodeWalk {
 public:
  explicit NodeWalk(const Database& database)
      : select_(database.prepare(fmt::format("SELECT {} FROM nodes ORDER BY rank, node", node_columns(database)))) {
    advance();
  }

  void describe(RankId rank, uint32_t node, NodeInfo& info) {
    const std::pair wanted(rank.value, node);
    if (wanted < asked_) {
      select_.reset();
      advance();
    }
    asked_ = wanted;
    while (live_ && key_ < wanted) advance();
    if (live_ && key_ == wanted) {
      assign(info, select_);
    } else {
      info = undescribed(rank, node);
    }
  }

 private:
  void advance() {
    live_ = select_.step();
    if (live_) key_ = {small(select_, 0), small(select_, 1)};
  }

  Statement select_;
  std::pair<uint32_t, uint32_t> key_, asked_;
  bool live_ = false;
};

/// Of an execution: iteration, rank, node.
using Key = std::tuple<int64_t, int64_t, int64_t>;

/// The executions of one run in order of (iteration, rank, node), which are less than 2^14, 2^17 and 2^32 (MessageId):
/// as one number SQLite sorts them in half the time.
class OperationCursor {
 public:
  OperationCursor(const Database& database, const RecordedRun* run)
      : select_(database.prepare("SELECT iteration, rank, node, start_ps, end_ps FROM operations WHERE run=? "
                                 "ORDER BY (iteration << 49) | (rank << 32) | node")) {
    // Runs count from 1, so run 0 has no rows.
    select_.bind(run == nullptr ? 0u : run->run);
    advance();
  }
  void advance() {
    live_ = select_.step();
    if (live_) key_ = Key(select_.integer(0), select_.integer(1), select_.integer(2));
  }
  bool live() const { return live_; }
  const Key& key() const { return key_; }
  OperationTimes times() const { return {Time(select_.integer(3)), Time(select_.integer(4))}; }

 private:
  Statement select_;
  Key key_;
  bool live_ = false;
};

/// Times by cause in the same order.
class CauseCursor {
 public:
  CauseCursor(const Database& database, const RecordedRun& run)
      : select_(database.prepare(fmt::format(
            "SELECT iteration, rank, node, {} FROM operation_causes WHERE run=? ORDER BY iteration, rank, node",
            kCauseColumns))) {
    select_.bind(run.run);
    advance();
  }

  /// Of all connections of an execution; those of later calls come later.
  std::optional<TimeByCause> sum(const Key& wanted) {
    std::optional<TimeByCause> sum;
    for (; live_ && key_ <= wanted; advance()) {
      if (key_ < wanted) continue;
      if (!sum) sum.emplace();
      *sum += causes_at(select_, 3);
    }
    return sum;
  }

 private:
  void advance() {
    live_ = select_.step();
    if (live_) key_ = Key(select_.integer(0), select_.integer(1), select_.integer(2));
  }

  Statement select_;
  Key key_;
  bool live_ = false;
};

/// For each of `operations`, by its place among them, the executions that belong to it: those of all members of a
/// group.
std::multimap<Key, size_t> executions_of(const Database& database, std::span<const OperationRow> operations) {
  using Collective = std::tuple<uint32_t, std::string, uint32_t>;  // job, group, sequence
  std::multimap<Key, size_t> executions;
  std::multimap<Collective, size_t> collectives;
  for (size_t i = 0; i < operations.size(); ++i) {
    const NodeInfo& node = operations[i].node;
    if (node.group.empty()) {
      executions.emplace(Key(operations[i].iteration, node.rank.value, node.node), i);
    } else {
      collectives.emplace(Collective(node.job.value, node.group, node.sequence), i);
    }
  }
  Statement rows = database.prepare("SELECT rank, node, job, \"group\", sequence FROM nodes WHERE \"group\"<>''");
  while (!collectives.empty() && rows.step()) {
    const auto [begin, end] = collectives.equal_range(Collective(small(rows, 2), rows.text(3), small(rows, 4)));
    for (auto it = begin; it != end; ++it)
      executions.emplace(Key(operations[it->second].iteration, rows.integer(0), rows.integer(1)), it->second);
  }
  return executions;
}

}  // namespace

Time RunReader::last_end(const RecordedRun& run) const {
  Statement rows = database_.prepare("SELECT ifnull(max(end_ps), 0) FROM operations WHERE run=?");
  rows.bind(run.run);
  rows.step();
  return Time(rows.integer(0));
}

Statement RunReader::over_both_sides(std::string_view sql) const {
  // Runs count from 1, so run 0 has no rows.
  const auto number = [](const RecordedRun* run) { return run == nullptr ? 0u : run->run; };
  Statement rows = database_.prepare(sql);
  rows.bind(number(emulated_), number(reference()));
  return rows;
}

uint64_t RunReader::operation_count() const {
  Statement rows = over_both_sides("SELECT count(*) FROM operations WHERE run IN (?, ?)");
  rows.step();
  return static_cast<uint64_t>(rows.integer(0));
}

std::optional<Duration> RunReader::nth_longest(uint64_t n) const {
  // Without LIMIT, which would make SQLite keep a tree instead of sorting.
  Statement rows = over_both_sides("SELECT end_ps - start_ps AS d FROM operations WHERE run IN (?, ?) ORDER BY d DESC");
  while (rows.step()) {
    if (--n == 0) return Duration(rows.integer(0));
  }
  return std::nullopt;
}

uint64_t RunReader::longer_than(Duration duration) const {
  Statement rows = over_both_sides(
      fmt::format("SELECT count(*) FROM operations WHERE run IN (?, ?) AND end_ps - start_ps > {}", duration.ps));
  rows.step();
  return static_cast<uint64_t>(rows.integer(0));
}

void RunReader::for_each_operation(const std::function<void(const OperationRow&)>& visit) const {
  NodeWalk nodes(database_);
  OperationCursor emulated(database_, emulated_), reference(database_, this->reference());
  std::optional<CauseCursor> causes;
  if (emulated_ != nullptr && has_table("operation_causes")) causes.emplace(database_, *emulated_);
  OperationRow row;
  while (emulated.live() || reference.live()) {
    const bool take_emulated = emulated.live() && (!reference.live() || emulated.key() <= reference.key());
    const bool take_reference = reference.live() && (!emulated.live() || reference.key() <= emulated.key());
    const auto [iteration, rank, node] = take_emulated ? emulated.key() : reference.key();
    nodes.describe(RankId(static_cast<uint32_t>(rank)), static_cast<uint32_t>(node), row.node);
    row.iteration = static_cast<uint32_t>(iteration);
    row.emulated = take_emulated ? std::optional(emulated.times()) : std::nullopt;
    row.reference = take_reference ? std::optional(reference.times()) : std::nullopt;
    row.causes = take_emulated && causes ? causes->sum(emulated.key()) : std::nullopt;
    if (row.node.kind != "none") visit(row);
    if (take_emulated) emulated.advance();
    if (take_reference) reference.advance();
  }
}

std::vector<std::vector<OperationFlow>> RunReader::flows_of(const RecordedRun& run,
                                                            std::span<const OperationRow> operations) const {
  std::vector<std::vector<OperationFlow>> flows(operations.size());
  if (operations.empty() || !has_table("operation_causes")) return flows;
  const std::multimap<Key, size_t> executions = executions_of(database_, operations);
  Statement rows = database_.prepare(
      fmt::format("SELECT iteration, rank, node, connection, {} FROM operation_causes WHERE run=? ORDER BY connection",
                  kCauseColumns));
  Statement connections =
      database_.prepare("SELECT job, source, destination, channel, control FROM flows WHERE run=? AND connection=?");
  for (rows.bind(run.run); rows.step();) {
    const auto [begin, end] = executions.equal_range(Key(rows.integer(0), rows.integer(1), rows.integer(2)));
    if (begin == end) continue;
    connections.reset();
    connections.bind(run.run, rows.integer(3));
    if (!connections.step()) continue;
    const Connection connection{.id = ConnectionId(small(rows, 3)),
                                .job = JobId(small(connections, 0)),
                                .source = RankId(small(connections, 1)),
                                .destination = RankId(small(connections, 2)),
                                .channel = static_cast<uint8_t>(connections.integer(3)),
                                .control = connections.integer(4) != 0};
    for (auto it = begin; it != end; ++it) flows[it->second].push_back({connection, causes_at(rows, 4)});
  }
  return flows;
}

void RunReader::for_each_cause(const RecordedRun& run, const std::function<void(const CauseRecord&)>& visit) const {
  if (!has_table("operation_causes")) return;
  Statement rows = database_.prepare(
      fmt::format("SELECT iteration, rank, node, connection, {} FROM operation_causes WHERE run=?", kCauseColumns));
  for (rows.bind(run.run); rows.step();) {
    visit({.rank = RankId(small(rows, 1)),
           .node = small(rows, 2),
           .iteration = small(rows, 0),
           .connection = ConnectionId(small(rows, 3)),
           .causes = causes_at(rows, 4)});
  }
}

void RunReader::for_each_node(const std::function<void(const NodeInfo&)>& visit) const {
  Statement rows = database_.prepare(fmt::format("SELECT {} FROM nodes ORDER BY rank, node", node_columns(database_)));
  for (NodeInfo node; rows.step();) {
    assign(node, rows);
    visit(node);
  }
}

uint64_t RunReader::execution_count(const RecordedRun& run) const {
  Statement rows = database_.prepare("SELECT count(*) FROM operations WHERE run=?");
  rows.bind(run.run);
  rows.step();
  return count(rows, 0);
}

void RunReader::for_each_execution(const RecordedRun& run,
                                   const std::function<void(const OperationRecord&)>& visit) const {
  Statement rows = database_.prepare("SELECT rank, node, iteration, start_ps, end_ps FROM operations WHERE run=?");
  rows.bind(run.run);
  while (rows.step()) {
    visit({.rank = RankId(small(rows, 0)),
           .node = small(rows, 1),
           .iteration = small(rows, 2),
           .start = Time(rows.integer(3)),
           .end = Time(rows.integer(4))});
  }
}

void RunReader::for_each_by_start(
    const RecordedRun& run, Duration shortest,
    const std::function<void(const NodeInfo& node, uint32_t iteration, OperationTimes times)>& visit) const {
  NodeLookup nodes(database_);
  Statement rows = database_.prepare(
      "SELECT rank, node, iteration, start_ps, end_ps FROM operations WHERE run=? AND end_ps - start_ps >= ? "
      "ORDER BY rank, start_ps, end_ps, iteration, node");
  rows.bind(run.run, shortest);
  while (rows.step()) {
    const NodeInfo& node = nodes.find(RankId(small(rows, 0)), small(rows, 1));
    if (node.kind == "none") continue;
    visit(node, small(rows, 2), {Time(rows.integer(3)), Time(rows.integer(4))});
  }
}

void RunReader::for_each_interval(
    const RecordedRun& run,
    const std::function<void(RankId rank, std::string_view kind, OperationTimes times)>& visit) const {
  NodeLookup nodes(database_);
  Statement rows =
      database_.prepare("SELECT rank, node, start_ps, end_ps FROM operations WHERE run=? ORDER BY rank, start_ps");
  rows.bind(run.run);
  while (rows.step()) {
    const RankId rank(small(rows, 0));
    const std::string& kind = nodes.find(rank, small(rows, 1)).kind;
    if (kind == "none") continue;
    visit(rank, kind, {Time(rows.integer(2)), Time(rows.integer(3))});
  }
}

}  // namespace rankwire
