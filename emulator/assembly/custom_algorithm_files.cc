#include "emulator/assembly/custom_algorithm_files.h"

#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "base/error.h"
#include "base/message.h"
#include "emulator/workload/trace_files.h"
#include "proto/attributes.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

/// A step as its node has it, in the order of the file.
struct Read {
  CustomStep step;
  uint64_t id = 0;
  std::vector<uint64_t> after;  ///< ids
};

class File {
 public:
  File(const std::string& path, uint32_t position, uint32_t members)
      : reader_(path), position_(position), members_(members) {}

  std::optional<std::string> metadata(std::string_view name) const {
    if (reader_.metadata())
      for (const auto& [key, value] : reader_.metadata()->attributes)
        if (key == name) return value;
    return std::nullopt;
  }
  std::string required_metadata(std::string_view name) const {
    const std::optional<std::string> value = metadata(name);
    if (!value)
      fail_input("{}: the metadata has no attribute '{}', so this is no description of an algorithm", reader_.path(),
                 name);
    return *value;
  }
  /// Within [least, most].
  uint32_t metadata_number(std::string_view name, const std::string& text, uint32_t least, uint32_t most) const {
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
      fail_input("{}: '{}' must be {} .. {}, not '{}'", reader_.path(), name, least, most, text);
    return value;
  }

  std::vector<CustomStep> steps(uint32_t chunks) {
    TraceNode node;
    while (reader_.next(node)) {
      if (!places_.try_emplace(node.id, static_cast<uint32_t>(read_.size())).second)
        fail(node, "this id has been given already");
      read_.push_back({step_of(node, chunks), node.id, node.data_deps});
    }
    return in_order();
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const TraceNode& node, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: node {} '{}': {}", reader_.path(), node.id, node.name,
               fmt::format(format, std::forward<Args>(args)...));
  }

  /// An attribute within [least, most]; a missing one is `otherwise`, if there is such.
  int64_t number(const TraceNode& node, std::string_view name, int64_t least, int64_t most,
                 std::optional<int64_t> otherwise = std::nullopt) const {
    std::optional<int64_t> value = integer_attribute(node, name);
    if (!value) value = otherwise;
    if (!value) fail(node, "has no attribute '{}'", name);
    if (*value < least || *value > most) fail(node, "{} {} is outside {} .. {}", name, *value, least, most);
    return *value;
  }

  CustomStep step_of(const TraceNode& node, uint32_t chunks) const {
    const bool sends = node.type == chakra::COMM_SEND_NODE;
    if (!sends && node.type != chakra::COMM_RECV_NODE) fail(node, "is neither COMM_SEND_NODE nor COMM_RECV_NODE");
    CustomStep step;
    step.kind = sends ? StepKind::kSend : StepKind::kReceive;
    step.reduce = !sends && bool_attribute(node, "reduce").value_or(false);
    const char* peer = sends ? "comm_dst" : "comm_src";
    step.peer = static_cast<uint32_t>(number(node, peer, 0, members_ - 1));
    if (step.peer == position_) fail(node, "{} {} is the member itself", peer, step.peer);
    step.tag = number(node, "comm_tag", INT64_MIN, INT64_MAX, 0);
    step.channel = static_cast<uint8_t>(number(node, "channel", 0, MessageId::kMaxChannels - 1, 0));
    step.chunk = static_cast<uint32_t>(number(node, "chunk", 0, chunks - 1));
    step.count = static_cast<uint32_t>(number(node, "count", 1, chunks - step.chunk, 1));
    return step;
  }

  /// Behind what they wait for, otherwise in the order of the file.
  std::vector<CustomStep> in_order() const {
    std::vector<size_t> missing(read_.size());
    std::vector<std::vector<uint32_t>> successors(read_.size());
    for (uint32_t i = 0; i < read_.size(); ++i) {
      for (const uint64_t id : read_[i].after) {
        const auto earlier = places_.find(id);
        if (earlier == places_.end())
          fail_input("{}: node {} depends on node {}, which is not there", reader_.path(), read_[i].id, id);
        successors[earlier->second].push_back(i);
      }
      missing[i] = read_[i].after.size();
    }
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t i = 0; i < read_.size(); ++i)
      if (missing[i] == 0) ready.push(i);
    std::vector<CustomStep> ordered;
    std::vector<uint32_t> place(read_.size());
    while (!ready.empty()) {
      const uint32_t i = ready.top();
      ready.pop();
      place[i] = static_cast<uint32_t>(ordered.size());
      CustomStep& step = ordered.emplace_back(read_[i].step);
      for (const uint64_t id : read_[i].after) step.after.push_back(place[places_.at(id)]);
      for (const uint32_t next : successors[i])
        if (--missing[next] == 0) ready.push(next);
    }
    if (ordered.size() < read_.size()) fail_input("{}: the dependencies of its nodes form a cycle", reader_.path());
    return ordered;
  }

  TraceReader reader_;
  const uint32_t position_, members_;
  std::vector<Read> read_;
  std::map<uint64_t, uint32_t> places_;  // by id
};

constexpr uint32_t kMostChunks = 1 << 20;

}  // namespace

CustomAlgorithm read_custom_algorithm(const std::string& prefix, Operation operation) {
  CustomAlgorithm algorithm{.name = prefix, .operation = operation, .members = {}};
  const std::vector<std::string> paths = find_trace_files({prefix});
  const uint32_t members = static_cast<uint32_t>(paths.size());
  for (uint32_t position = 0; position < members; ++position) {
    File file(paths[position], position, members);
    const std::string collective = file.required_metadata("collective");
    if (collective != to_string(operation))
      fail_input("{}: describes '{}', not '{}'", paths[position], collective, to_string(operation));
    const uint32_t chunks = file.metadata_number("chunks", file.required_metadata("chunks"), 1, kMostChunks);
    const uint32_t root = file.metadata_number("root", file.metadata("root").value_or("0"), 0, members - 1);
    if (position > 0 && (chunks != algorithm.chunks || root != algorithm.root))
      fail_input("{}: has {} chunks and the root {}, but {} has {} and {}", paths[position], chunks, root, paths[0],
                 algorithm.chunks, algorithm.root);
    algorithm.chunks = chunks;
    algorithm.root = root;
    algorithm.members.push_back(file.steps(chunks));
  }
  check_custom_algorithm(algorithm);
  return algorithm;
}

}  // namespace rankwire
