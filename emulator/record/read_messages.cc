// RunReader's view of messages, and what they and connections were for.
#include "emulator/record/read_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

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

/// Kinds of operations by what messages say of them, as numbers. A byte for each collective of each group.
class MessageKinds {
 public:
  static constexpr uint8_t kUnknown = 0;

  MessageKinds(const Database& database, const RecordedRun& run) : groups_(group_names(database, run)) {
    if (!nodes_have_sequences(database)) return;
    Statement nodes = database.prepare(
        "SELECT job, \"group\", sequence, kind FROM nodes WHERE \"group\"<>'' AND sequence IS NOT NULL AND kind NOT IN "
        "('send', 'receive')");
    while (nodes.step()) {
      const uint64_t sequence = count(nodes, 2);
      if (sequence >= MessageId::kMaxSequence) continue;
      std::vector<uint8_t>& kinds = by_sequence_[{count(nodes, 0), nodes.text(1)}];
      if (kinds.size() <= sequence) kinds.resize(sequence + 1, kUnknown);
      kinds[sequence] = number(nodes.text_view(3));
    }
  }

  uint8_t of(uint64_t job, uint64_t group, uint64_t sequence) const {
    if (group == MessageId::kPointToPoint) return kSend;
    const auto name = groups_.find({job, group});
    if (name == groups_.end()) return kUnknown;
    const auto kinds = by_sequence_.find({job, name->second});
    return kinds != by_sequence_.end() && sequence < kinds->second.size() ? kinds->second[sequence] : kUnknown;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  static constexpr uint8_t kSend = 1;

  /// Names are few: those of collectives that traces know.
  uint8_t number(std::string_view name) {
    const auto known = std::ranges::find(names_, name);
    if (known == names_.end() && names_.size() > UINT8_MAX) return kUnknown;
    const auto place = static_cast<uint8_t>(known - names_.begin());
    if (known == names_.end()) names_.emplace_back(name);
    return place;
  }

  std::map<std::pair<uint64_t, uint64_t>, std::string> groups_;
  std::map<std::pair<uint64_t, std::string>, std::vector<uint8_t>> by_sequence_;
  std::vector<std::string> names_ = {"unknown", "send"};
};

/// Notes the wanted ones of times that come in order.
class PlacedTimes {
 public:
  PlacedTimes(std::string kind, uint64_t all, std::vector<uint64_t> places) : places_(std::move(places)) {
    times_.kind = std::move(kind), times_.count = all;
  }
  void add(Duration time) {
    ++seen_;
    if (times_.at.size() < places_.size() && places_[times_.at.size()] == seen_) times_.at.push_back({seen_, time});
  }
  MessageTimes take() { return std::move(times_); }

 private:
  const std::vector<uint64_t> places_;
  uint64_t seen_ = 0;
  MessageTimes times_;
};

/// Of rows of `messages`: data that arrived.
constexpr const char* kArrived =
    "run=? AND failed=0 AND control=0 AND posted_ps IS NOT NULL AND delivered_ps IS NOT NULL";

}  // namespace

std::vector<MessageTimes> RunReader::message_times(
    const RecordedRun& run, const std::function<std::vector<uint64_t>(uint64_t count)>& places) const {
  if (!run.latency) return {};
  Statement recorded = database_.prepare(fmt::format("SELECT count(*) FROM messages WHERE {}", kArrived));
  recorded.bind(run.run);
  recorded.step();
  const uint64_t all = count(recorded, 0);
  if (all == 0 || all != run.latency->count) return {};

  const MessageKinds kinds(database_, run);
  const auto kind_of = [&](const Statement& row) { return kinds.of(count(row, 0), count(row, 1), count(row, 2)); };
  std::map<uint8_t, uint64_t> counts;
  Statement rows = database_.prepare(fmt::format("SELECT job, \"group\", sequence FROM messages WHERE {}", kArrived));
  for (rows.bind(run.run); rows.step();) ++counts[kind_of(rows)];
  PlacedTimes together("", all, places(all));
  std::map<uint8_t, PlacedTimes> by_kind;
  for (const auto& [kind, number] : counts) by_kind.try_emplace(kind, kinds.names()[kind], number, places(number));

  Statement sorted = database_.prepare(fmt::format(
      "SELECT job, \"group\", sequence, delivered_ps - posted_ps FROM messages WHERE {} ORDER BY 4", kArrived));
  for (sorted.bind(run.run); sorted.step();) {
    const Duration time = duration(sorted, 3);
    together.add(time);
    by_kind.at(kind_of(sorted)).add(time);
  }
  std::vector<MessageTimes> list{together.take()};
  for (auto& [kind, times] : by_kind) list.push_back(times.take());
  std::sort(list.begin() + 1, list.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  return list;
}

std::vector<Histogram::Bucket> RunReader::message_buckets(const RecordedRun& run) const {
  std::vector<Histogram::Bucket> buckets;
  if (!has_table("message_buckets")) return buckets;
  Statement rows = database_.prepare("SELECT low_ps, high_ps, count FROM message_buckets WHERE run=? ORDER BY low_ps");
  for (rows.bind(run.run); rows.step();) buckets.push_back({duration(rows, 0), duration(rows, 1), count(rows, 2)});
  return buckets;
}

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
