#include "converters/layer_text.h"

#include <algorithm>
#include <span>
#include <utility>

#include "converters/node_writer.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

using enum Parallelism;

constexpr std::array<std::pair<std::string_view, Parallelism>, 11> kKinds{{
    {"MICRO", kMicro},
    {"DATA", kData},
    {"MODEL", kModel},
    {"HYBRID_DATA_MODEL", kHybridDataModel},
    {"HYBRID_MODEL_DATA", kHybridModelData},
    {"HYBRID_CUSTOMIZED", kHybridCustomized},
    {"HYBRID_DLRM", kDlrm},
    {"HYBRID_DLRM_ENHANCED", kDlrm},
    {"DISTRIBUTED_INFERENCE", kInference},
    {"HYBRID_TRANSFORMER", kTransformer},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", kTransformerRecomputing},
}};

constexpr std::array<std::pair<std::string_view, chakra::CollectiveCommType>, 5> kCollectives{{
    {"ALLREDUCE", chakra::ALL_REDUCE},
    {"ALLGATHER", chakra::ALL_GATHER},
    {"ALLTOALL", chakra::ALL_TO_ALL},
    {"REDUCESCATTER", chakra::REDUCE_SCATTER},
    {"BROADCAST", chakra::BROADCAST},
}};

/// Columns but for the name and the policy of HYBRID_CUSTOMIZED.
constexpr size_t kColumns = 12;
constexpr uint32_t kMostLayers = 10'000'000, kMostNpus = 1u << 20;

class LayerReader {
 public:
  LayerReader(const std::string& path, std::string_view text, Warnings& warnings)
      : path_(path), lines_(path, text), warnings_(warnings) {}

  LayerText read();

 private:
  using Words = std::span<const std::string_view>;

  Parallelism kind_of(std::string_view word) const;
  void read_head(Words words);
  size_t read_option(Words words, size_t at);
  uint32_t positive(std::string_view key, std::string_view word) const;
  std::vector<uint32_t> layers_of(std::string_view key, Words words, size_t at) const;
  void read_count(Words words);
  Layer read_layer(Words words) const;
  LayerCollective read_collective(std::string_view word, std::string_view size) const;
  void check_checkpoints() const;

  const std::string& path_;
  TextLines lines_;
  Warnings& warnings_;
  LayerText text_;
  uint32_t count_ = 0;
};

Parallelism LayerReader::kind_of(std::string_view word) const {
  const auto kind = std::ranges::find(kKinds, word, [](const auto& entry) { return entry.first; });
  if (kind == kKinds.end()) {
    lines_.fail(
        "\"{}\" is no kind of parallelism: MICRO, DATA, MODEL, HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, "
        "HYBRID_CUSTOMIZED, HYBRID_DLRM, HYBRID_DLRM_ENHANCED, DISTRIBUTED_INFERENCE, HYBRID_TRANSFORMER, "
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
        word);
  }
  return kind->second;
}

uint32_t LayerReader::positive(std::string_view key, std::string_view word) const {
  const auto value = number_in<uint32_t>(word);
  if (!value || *value == 0 || *value > kMostNpus) lines_.fail("{} is \"{}\", not 1 to {}", key, word, kMostNpus);
  return *value;
}

/// A number of layers and as many indexes.
std::vector<uint32_t> LayerReader::layers_of(std::string_view key, Words words, size_t at) const {
  std::vector<uint32_t> layers;
  const auto count = number_in<uint32_t>(words[at]);
  if (!count || *count > words.size() - at - 1) lines_.fail("{} must be a number and as many layers", key);
  for (const std::string_view word : words.subspan(at + 1, *count)) {
    const auto layer = number_in<uint32_t>(word);
    if (!layer) lines_.fail("{}: \"{}\" is no layer", key, word);
    layers.push_back(*layer);
  }
  return layers;
}

/// Reads the option at `at` and returns where the next begins.
size_t LayerReader::read_option(Words words, size_t at) {
  std::string_view key = words[at];
  if (key.ends_with(':')) key.remove_suffix(1);
  if (at + 1 == words.size()) lines_.fail("{} has no value", key);
  if (key == "checkpoints" || key == "checkpoint_initiates") {
    std::vector<uint32_t>& layers = key == "checkpoints" ? text_.checkpoints : text_.initiates;
    layers = layers_of(key, words, at + 1);
    return at + 2 + layers.size();
  }
  if (key == "model_parallel_NPU_group") text_.model_parallel = positive(key, words[at + 1]);
  if (key == "all_gpus") text_.all_ranks = positive(key, words[at + 1]);
  if (key == "ep") text_.expert_parallel = positive(key, words[at + 1]);
  if (key == "pp") text_.pipeline_parallel = positive(key, words[at + 1]);
  if (key == "pp_comm") {
    warnings_.push_back(fmt::format("{}: pp_comm is left out: no layer says when a stage passes something on", path_));
  }
  return at + 2;
}

void LayerReader::read_head(Words words) {
  if (words.empty()) lines_.fail("the kind of parallelism is missing");
  text_.kind = kind_of(words[0]);
  size_t at = 1;
  if (text_.kind == kDlrm) {
    const auto layer = words.size() > 1 ? number_in<uint32_t>(words[1]) : std::nullopt;
    if (!layer) lines_.fail("{} must be followed by the last bottom layer", words[0]);
    text_.last_bottom_layer = *layer;
    at = 2;
  }
  while (at < words.size()) at = read_option(words, at);
}

void LayerReader::read_count(Words words) {
  const auto count = words.size() == 1 ? number_in<uint32_t>(words[0]) : std::nullopt;
  if (!count || *count == 0 || *count > kMostLayers) lines_.fail("the number of layers must be 1 to {}", kMostLayers);
  count_ = *count;
}

LayerCollective LayerReader::read_collective(std::string_view word, std::string_view size) const {
  LayerCollective collective{.name = std::string(word)};
  const auto bytes = number_in<int64_t>(size);
  if (!bytes || *bytes < 0 || *bytes > kMostOperationBytes)
    lines_.fail("\"{}\" is no size, 0 to {} bytes", size, kMostOperationBytes);
  collective.size = Bytes(*bytes);
  if (word.ends_with("_DP_EP")) {
    collective.scope = LayerScope::kDataWithExpert;
    word.remove_suffix(6);
  } else if (word.ends_with("_EP")) {
    collective.scope = LayerScope::kExpert;
    word.remove_suffix(3);
  }
  if (word == "NONE") return collective;
  if (word == "ALLREDUCEALLTOALL") {
    collective.kinds = {chakra::ALL_REDUCE, chakra::ALL_TO_ALL};
    return collective;
  }
  const auto kind = std::ranges::find(kCollectives, word, [](const auto& entry) { return entry.first; });
  if (kind == kCollectives.end()) {
    lines_.fail(
        "\"{}\" is no collective: NONE, ALLREDUCE, ALLGATHER, ALLTOALL, REDUCESCATTER, BROADCAST, "
        "ALLREDUCEALLTOALL, each also with _EP or _DP_EP behind it",
        collective.name);
  }
  // Nothing to move is nothing to do.
  if (*bytes > 0) collective.kinds = {kind->second};
  return collective;
}

Layer LayerReader::read_layer(Words words) const {
  const bool customized = text_.kind == kHybridCustomized;
  if (words.size() != kColumns + (customized ? 1 : 0)) {
    lines_.fail("a layer has {} columns, this line has {}", kColumns + (customized ? 1 : 0), words.size());
  }
  Layer layer{.name = std::string(words[0])};
  for (const LayerPass pass : {kForward, kInputGradient, kWeightGradient}) {
    const size_t column = 2 + 3 * size_t{pass};
    const auto time = number_in<uint64_t>(words[column]);
    if (!time || *time > uint64_t{1} << 53) lines_.fail("\"{}\" is no time", words[column]);
    layer.time[pass] = *time;
    layer.collective[pass] = read_collective(words[column + 1], words[column + 2]);
  }
  if (customized) layer.policy = kind_of(words[kColumns]);
  return layer;
}

/// The forward pass is done again from a checkpoint before each layer that initiates it.
void LayerReader::check_checkpoints() const {
  for (const uint32_t layer : text_.checkpoints) {
    if (layer >= text_.layers.size()) fail_input("{}:1: checkpoint {} is no layer", path_, layer);
  }
  for (const uint32_t layer : text_.initiates) {
    const bool covered = std::ranges::any_of(text_.checkpoints, [&](uint32_t from) { return from <= layer; });
    if (layer >= text_.layers.size() || !covered) {
      fail_input("{}:1: checkpoint_initiates: layer {} does not exist or has no checkpoint before it", path_, layer);
    }
  }
  if (text_.kind == kDlrm && text_.last_bottom_layer + uint64_t{1} >= text_.layers.size()) {
    fail_input("{}:1: the last bottom layer is {} of {} layers", path_, text_.last_bottom_layer, text_.layers.size());
  }
}

LayerText LayerReader::read() {
  std::string_view line;
  enum class Expect : uint8_t { kHead, kCount, kLayer } expect = Expect::kHead;
  while (lines_.next(line)) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) continue;
    if (expect == Expect::kHead) {
      read_head(words);
      expect = Expect::kCount;
    } else if (expect == Expect::kCount) {
      read_count(words);
      expect = Expect::kLayer;
    } else {
      if (text_.layers.size() == count_) lines_.fail("more than {} layers", count_);
      text_.layers.push_back(read_layer(words));
    }
  }
  if (expect != Expect::kLayer) fail_input("{}: no layers", path_);
  if (text_.layers.size() < count_) fail_input("{}: {} layers of {}", path_, text_.layers.size(), count_);
  check_checkpoints();
  return std::move(text_);
}

}  // namespace

LayerText parse_layer_text(const std::string& path, std::string_view text, Warnings& warnings) {
  return LayerReader(path, text, warnings).read();
}

}  // namespace rankwire
