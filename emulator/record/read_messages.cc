// RunReader's view of messages, and what they and connections were for.
#include "emulator/record/read_messages.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "emulator/record/columns.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

constexpr const char* kMessageColumns =
    "job, \"group\", sequence, iteration, source, destination, step, channel, slice, bytes, posted_ps, acked_ps, "
    "first_rx_ps, delivered_ps, retransmissions, marks, control";
/// Those that a person asks for times.
constexpr const char* kDelivered = "failed=0 AND posted_ps IS NOT NULL AND delivered_ps IS NOT NULL";

JoinedMessage message_at(const Statement& row) {
  const auto time = [&](int column) {
    const std::optional<int64_t> ps = row.optional_integer(column);
    return ps ? Time(*ps) : Time::never();
  };
  JoinedMessage m;
  m.id.job = count(row, 0);
  m.id.group = count(row, 1);
  m.id.sequence = count(row, 2);
  m.id.iteration = count(row, 3);
  m.id.source = count(row, 4);
  m.id.destination = count(row, 5);
  m.id.step = count(row, 6);
  m.id.channel = count(row, 7);
  m.id.slice = count(row, 8);
  m.bytes = Bytes(row.integer(9));
  m.posted = time(10);
  m.acked = time(11);
  m.first_rx = time(12);
  m.delivered = time(13);
  m.retransmissions = small(row, 14);
  m.marks = small(row, 15);
  m.id.control = count(row, 16);
  return m;
}

bool nodes_have_sequences(const Database& database) {
  return database.prepare("SELECT 1 FROM pragma_table_info('nodes') WHERE name='sequence'").step();
}

/// Names of process groups by (job, number).
std::map<std::pair<uint64_t, uint64_t>, std::string> group_names(const Database& database, const RecordedRun& run) {
  std::map<std::pair<uint64_t, uint64_t>, std::string> names;
  Statement rows =
      database.prepare("SELECT DISTINCT job, group_id, \"group\" FROM flows WHERE run=? AND group_id IS NOT NULL");
  for (rows.bind(run.run); rows.step();) names.try_emplace({count(rows, 0), count(rows, 1)}, rows.text(2));
  return names;
}

/// SENDs of different tags have the same numbers, so several may be meant: then what their names have in common, if
/// that is all but numbers.
void merge(std::string& name, const std::string& other) {
  const auto pattern = [](const std::string& text) {
    std::string out;
    for (const char c : text) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit) out += c;
      if (digit && (out.empty() || out.back() != '#')) out += '#';
    }
    return out;
  };
  if (name == other) return;
  name = pattern(name) == pattern(other) ? pattern(name) : std::string("(several)");
}

bool is_of(const JoinedMessage& message, uint64_t job, const std::string& group, const std::string& kind) {
  if (message.id.job != job) return false;
  if (message.id.group != MessageId::kPointToPoint)
    return kind != "send" && kind != "receive" && group == message.group;
  return kind == (message.id.control ? "receive" : "send");
}

}  // namespace

void name_operations(const Database& database, const RecordedRun& run, std::vector<JoinedMessage>& messages) {
  if (messages.empty() || !nodes_have_sequences(database)) return;
  const auto names = group_names(database, run);
  std::multimap<std::pair<uint64_t, uint64_t>, JoinedMessage*> wanted;  // by source and sequence
  std::set<uint64_t> sources;
  for (JoinedMessage& m : messages) {
    if (const auto name = names.find({uint64_t{m.id.job}, uint64_t{m.id.group}}); name != names.end())
      m.group = name->second;
    wanted.emplace(std::pair(uint64_t{m.id.source}, uint64_t{m.id.sequence}), &m);
    sources.insert(m.id.source);
  }
  Statement nodes =
      database.prepare("SELECT job, sequence, name, kind, \"group\" FROM nodes WHERE rank=? AND sequence IS NOT NULL");
  for (const uint64_t source : sources) {
    nodes.reset();
    for (nodes.bind(source); nodes.step();) {
      const auto [begin, end] = wanted.equal_range({source, count(nodes, 1)});
      if (begin == end) continue;
      const std::string name(nodes.text(2)), kind(nodes.text(3)), group(nodes.text(4));
      for (auto it = begin; it != end; ++it) {
        JoinedMessage& m = *it->second;
        if (!is_of(m, count(nodes, 0), group, kind)) continue;
        if (m.kind.empty()) {
          m.operation = name, m.kind = kind;
        } else {
          merge(m.operation, name);
        }
      }
    }
  }
}

std::vector<TrafficPath> RunReader::traffic_paths(const RecordedRun& run) const {
  std::map<std::tuple<uint32_t, std::string, uint32_t>, TrafficPath> paths;
  Statement rows = database_.prepare(
      "SELECT DISTINCT \"group\", CASE WHEN group_id IS NULL THEN source END, path, job FROM flows WHERE run=? AND "
      "control=0");
  for (rows.bind(run.run); rows.step();) {
    const std::optional<int64_t> source = rows.optional_integer(1);
    const RankId rank = source ? RankId(static_cast<uint32_t>(*source)) : RankId();
    TrafficPath& path = paths[{small(rows, 3), std::string(rows.text(0)), rank.value}];
    path.job = JobId(small(rows, 3)), path.group = rows.text(0), path.source = rank;
    (rows.text(2) == to_string(Path::kWire) ? path.wire : path.local) = true;
  }
  std::vector<TrafficPath> list;
  for (auto& [key, path] : paths) list.push_back(std::move(path));
  return list;
}

std::vector<JoinedMessage> RunReader::slowest_messages(const RecordedRun& run, uint32_t limit) const {
  Statement rows = database_.prepare(
      fmt::format("SELECT {} FROM messages WHERE run=? AND {} ORDER BY delivered_ps - posted_ps DESC, rowid LIMIT ?",
                  kMessageColumns, kDelivered));
  rows.bind(run.run, limit);
  std::vector<JoinedMessage> messages;
  while (rows.step()) messages.push_back(message_at(rows));
  name_operations(database_, run, messages);
  return messages;
}

bool RunReader::has_all_messages(const RecordedRun& run) const {
  if (!run.latency || run.loss.messages + run.loss.unjoined > 0) return false;
  Statement rows =
      database_.prepare(fmt::format("SELECT count(*) FROM messages WHERE run=? AND control=0 AND {}", kDelivered));
  rows.bind(run.run);
  rows.step();
  return count(rows, 0) == run.latency->count;
}

void RunReader::for_each_message(const RecordedRun& run, const std::function<void(const JoinedMessage&)>& visit) const {
  Statement rows = database_.prepare(
      fmt::format("SELECT {} FROM messages WHERE run=? AND control=0 AND {} ORDER BY posted_ps, rowid", kMessageColumns,
                  kDelivered));
  rows.bind(run.run);
  while (rows.step()) visit(message_at(rows));
}

}  // namespace rankwire
