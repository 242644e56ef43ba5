#include "emulator/traces/memory_use.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "emulator/traces/tensor_text.h"
#include "proto/trace_stream.h"

namespace rankwire {
namespace {

/// What is known of one tensor or storage.
struct Lifetime {
  int64_t bytes = 0;
  uint32_t first_node = 0;
  Time first = Time::never(), last = Time::long_ago();
  bool written = false, read = false;
};

class Lifetimes {
 public:
  Lifetimes(std::span<const Span> spans, Time end) : spans_(spans), end_(end) {}

  /// `node` reads or writes the tensor.
  void use(const std::string& tensor, int64_t bytes, uint32_t node, bool writes) {
    Lifetime& life = lives_[tensor];
    if (spans_[node].start < life.first) life.first = spans_[node].start, life.first_node = node;
    life.last = std::max(life.last, spans_[node].end);
    life.bytes = std::max(life.bytes, bytes);
    (writes ? life.written : life.read) = true;
  }

  std::optional<MemoryUse> sum() const {
    if (lives_.empty()) return std::nullopt;
    struct Change {
      int64_t bytes = 0;
      uint32_t node = 0;
    };
    std::map<Time, Change> changes;
    for (const auto& [name, life] : lives_) {
      Change& begin = changes[life.written ? life.first : Time(0)];
      begin.bytes += life.bytes;
      begin.node = life.first_node;
      changes[life.read ? std::max(life.last, life.first) : end_].bytes -= life.bytes;
    }
    MemoryUse use;
    use.tensors = lives_.size();
    for (const auto& [time, change] : changes) {
      const Bytes before = use.steps.empty() ? Bytes() : use.steps.back().bytes;
      use.steps.push_back({time, before + Bytes(change.bytes)});
      if (use.steps.back().bytes <= use.peak) continue;
      use.peak = use.steps.back().bytes;
      use.peak_at = change.node;
    }
    return use;
  }

 private:
  const std::span<const Span> spans_;
  const Time end_;
  std::unordered_map<std::string, Lifetime> lives_;
};

/// STAGE: a list of names and sizes in turns.
void read_lists(const chakra::Node& message, uint32_t node, int64_t element, Lifetimes& lives) {
  for (const chakra::AttributeProto& attribute : message.attr()) {
    const bool outputs = attribute.name() == "outputs";
    if (!(outputs || attribute.name() == "inputs") || !attribute.has_string_list()) continue;
    const auto& values = attribute.string_list().values();
    for (int i = 0; i + 1 < values.size(); i += 2) {
      const auto size = tensor_size(values[i + 1]);
      if (size && *size <= kMaxOperationBytes / element) lives.use(values[i], *size * element, node, outputs);
    }
  }
}

/// PyTorch does not say which is written first: a storage counts from its first to its last node.
void read_storages(std::string_view values, uint32_t node, Lifetimes& lives) {
  for_each_tensor(values, [&](const TensorText& tensor) {
    const __int128 end = (static_cast<__int128>(tensor.offset) + tensor.elements) * tensor.element_bytes;
    if (end <= 0 || end > kMaxOperationBytes) return;
    const std::string name = std::to_string(tensor.storage);
    lives.use(name, static_cast<int64_t>(end), node, true);
    lives.use(name, static_cast<int64_t>(end), node, false);
  });
}

}  // namespace

std::optional<MemoryUse> memory_use(const RankFacts& facts, std::span<const Span> spans, Time end, Bytes element_size) {
  if (!facts.names_tensors) return std::nullopt;
  Lifetimes lives(spans, end);
  TraceReader reader(facts.path);
  TraceNode node;
  chakra::Node message;
  for (uint32_t i = 0; i < facts.nodes.size() && reader.next(node); ++i) {
    if (facts.nodes[i].kind == NodeKind::kNone) continue;
    const std::string_view frame = reader.frame();
    if (!frame.empty() && message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
      read_lists(message, i, element_size.count, lives);
    }
    for (const TraceTensors* tensors : {&node.inputs, &node.outputs}) read_storages(tensors->values, i, lives);
  }
  return lives.sum();
}

}  // namespace rankwire
