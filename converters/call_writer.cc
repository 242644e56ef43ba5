#include "converters/call_writer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace rankwire {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 40;  // of a tensor; the sum of a group's is far below 2^63

}  // namespace

uint32_t message_tag(const std::string& group) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : group) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash & 0x7FFFFFFFu;
}

void CallWriter::define(const PytorchCall& call) {
  if (std::ranges::find(rank_.groups, call.group, &ProcessGroup::name) != rank_.groups.end()) return;
  if (!call.ranks.empty()) {
    rank_.groups.push_back({call.group, call.ranks});
  } else if (call.first_rank >= 0 && call.members > 0 && !call.group.empty()) {
    ProcessGroup group{call.group, {}};
    for (int64_t i = 0; i < call.members; ++i) group.ranks.push_back(call.first_rank + i * call.stride);
    rank_.groups.push_back(std::move(group));
  }
}

void CallWriter::write_groups() {
  // One name may have been recorded twice, at two places.
  std::set<std::string> seen;
  std::erase_if(rank_.groups, [&](const ProcessGroup& group) { return !seen.insert(group.name).second; });
  if (!rank_.groups.empty()) writer_.groups(print_groups(rank_.groups));
}

const std::string& CallWriter::group_name(const PytorchCall& call) const {
  static const std::string all = "0";
  return call.group.empty() ? all : call.group;
}

std::vector<int64_t> CallWriter::members(const PytorchCall& call) const {
  const auto group = std::ranges::find(rank_.groups, group_name(call), &ProcessGroup::name);
  if (group != rank_.groups.end() && !group->ranks.empty()) return group->ranks;
  const int64_t count = std::max({rank_.world_size, call.members, static_cast<int64_t>(call.input_split.size())});
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

NodeWriter::Id CallWriter::write(const PytorchCall& call, std::string_view name, RecordedMicros micros,
                                 std::optional<int64_t> stream, const Ids& after) {
  if (stream) writer_.with("stream", *stream);
  writer_.lasting(micros.duration).starting(micros.start);
  return is_message(call.kind) ? write_point_to_point(call, name, after) : write_collective(call, name, after);
}

NodeWriter::Id CallWriter::write_batch(std::span<const PytorchCall* const> calls, std::string_view name,
                                       RecordedMicros micros, std::optional<int64_t> stream, const Ids& after) {
  Ids parts;
  for (const PytorchCall* call : calls) parts.push_back(write(*call, name, micros, stream, after));
  if (parts.size() == 1) return parts.front();
  // A node without work that stands for all parts.
  if (stream) writer_.with("stream", *stream);
  if (micros.start > 0) writer_.starting(micros.start + micros.duration);
  return writer_.compute(name, 0, 0, Bytes(0), parts);
}

NodeWriter::Id CallWriter::write_collective(const PytorchCall& call, std::string_view name, const Ids& after) {
  const auto kind = collective_of(call.kind);
  if (!kind) fail(call, "no collective");
  Bytes size = call.input;
  if (is_rooted(call.kind) && call.rank >= 0) {
    const std::vector<int64_t> ranks = members(call);
    if (static_cast<size_t>(call.rank) >= ranks.size()) {
      fail(call, "root {} of a group of {}", call.rank, ranks.size());
    }
    writer_.with("root", ranks[static_cast<size_t>(call.rank)]);
    // Only the root of a scatter has an input: the outputs of all.
    if (call.kind == ActionKind::kScatter) size = Bytes(call.output.count * static_cast<int64_t>(ranks.size()));
  }
  if (call.kind == ActionKind::kAllToAll && !call.output_split.empty()) splits(call, call.output_split, call.output);
  if (call.kind == ActionKind::kAllToAll && !call.input_split.empty()) {
    writer_.with("comm_splits", splits(call, call.input_split, call.input));
  }
  return writer_.collective(name, *kind, group_name(call), size, after);
}

uint32_t CallWriter::peer(const PytorchCall& call) const {
  int64_t peer = call.peer;
  if (peer < 0) {
    const std::vector<int64_t> ranks = members(call);
    if (call.rank < 0 || static_cast<size_t>(call.rank) >= ranks.size()) {
      fail(call, "peer {} of a group of {}", call.rank, ranks.size());
    }
    peer = ranks[static_cast<size_t>(call.rank)];
  }
  return static_cast<uint32_t>(peer);
}

NodeWriter::Id CallWriter::write_point_to_point(const PytorchCall& call, std::string_view name, const Ids& after) {
  const uint32_t tag = message_tag(group_name(call));
  const bool sends = call.kind == ActionKind::kSend;
  const Bytes size = sends || call.output.count == 0 ? call.input : call.output;
  return sends ? writer_.send(name, rank_.rank, peer(call), tag, size, after)
               : writer_.receive(name, peer(call), rank_.rank, tag, size, after);
}

std::string CallWriter::splits(const PytorchCall& call, const std::vector<int64_t>& rows, Bytes all) const {
  const size_t parts = members(call).size();
  if (rows.size() != parts) fail(call, "{} splits in a group of {}", rows.size(), parts);
  for (const int64_t part : rows) {
    if (part < 0 || part > kMostRows) fail(call, "a split of {}", part);
  }
  const int64_t sum = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  if (sum == 0 ? all.count != 0 : all.count % sum != 0) fail(call, "{} bytes in {} rows", all.count, sum);
  std::vector<int64_t> bytes = rows;
  for (int64_t& part : bytes) part *= sum == 0 ? 0 : all.count / sum;
  return fmt::format("[{}]", fmt::join(bytes, ", "));
}

}  // namespace rankwire
