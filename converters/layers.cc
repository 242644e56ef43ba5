#include "converters/layers.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "converters/node_writer.h"
#include "converters/process_group.h"
#include "converters/text_lines.h"

namespace rankwire {
namespace {

using enum Parallelism;
using Id = NodeWriter::Id;
using Ids = std::vector<Id>;

/// `size` ranks from `first` on, `stride` apart.
struct Members {
  uint32_t first, stride, size;
};

/// How the ranks are divided.
struct Division {
  uint32_t ranks = 1, model = 1, data = 1, expert = 1;

  Members everyone() const { return {0, 1, ranks}; }
  /// Consecutive model-parallel ranks, in stages of model * data.
  Members model_of(uint32_t rank) const { return {rank - rank % model, 1, model}; }
  Members data_of(uint32_t rank) const { return {stage_begin(rank) + rank % model, model, data}; }
  /// Consecutive data-parallel ranks.
  Members outer_model_of(uint32_t rank) const { return {rank % data, data, model}; }
  Members inner_data_of(uint32_t rank) const { return {rank - rank % data, 1, data}; }
  Members expert_of(uint32_t rank) const {
    const uint32_t replica = (rank - stage_begin(rank)) / model;
    return {stage_begin(rank) + (replica - replica % expert) * model + rank % model, model, expert};
  }
  Members data_with_expert_of(uint32_t rank) const {
    const uint32_t replica = (rank - stage_begin(rank)) / model;
    return {stage_begin(rank) + (replica % expert) * model + rank % model, model * expert, data / expert};
  }

 private:
  uint32_t stage_begin(uint32_t rank) const { return rank - rank % (model * data); }
};

Division divide(const std::string& path, const LayerText& text, const LayerOptions& options) {
  const auto ranks = options.ranks ? options.ranks : text.all_ranks;
  if (!ranks) fail_input("{}: the text does not say how many ranks there are: use --ranks", path);
  auto model = options.model_parallel ? options.model_parallel : text.model_parallel;
  const bool hybrid = text.kind == kHybridDataModel || text.kind == kHybridModelData ||
                      text.kind == kHybridCustomized || text.kind == kTransformer ||
                      text.kind == kTransformerRecomputing;
  if (hybrid && !model) {
    fail_input("{}: the text does not say how many ranks share a layer: use --model-parallel", path);
  }
  if (!hybrid) model = 1;
  Division division{.ranks = *ranks, .model = *model, .expert = text.expert_parallel};
  const uint64_t stage = uint64_t{*model} * text.pipeline_parallel;
  if (*ranks % stage != 0) {
    fail_input("{}: {} ranks cannot be divided into {} stages of {} model-parallel ranks", path, *ranks,
               text.pipeline_parallel, *model);
  }
  division.data = static_cast<uint32_t>(*ranks / stage);
  if (division.data % division.expert != 0) {
    fail_input("{}: {} data-parallel ranks cannot share experts {} ways", path, division.data, division.expert);
  }
  return division;
}

/// Process groups by name, as far as they are used.
using Groups = std::map<std::string, Members>;

/// Writes the nodes of one rank.
class LayerGraph {
 public:
  LayerGraph(const LayerText& text, const LayerOptions& options, const Division& division, uint32_t rank,
             NodeWriter& nodes, Groups& groups)
      : text_(text), options_(options), division_(division), rank_(rank), nodes_(nodes), groups_(groups) {}

  void write() {
    weights_.resize(text_.layers.size());
    for (uint32_t pass = 0; pass < options_.passes; ++pass) {
      switch (text_.kind) {
        case kMicro:
          write_micro();
          break;
        case kData:
          forward();
          backward_weights_first();
          break;
        case kDlrm:
          forward_dlrm();
          backward_weights_first();
          break;
        case kInference:
          forward();
          break;
        default:
          forward();
          backward_inputs_first();
      }
    }
  }

 private:
  const Layer& layer(size_t index) const { return text_.layers[index]; }
  bool is_transformer() const { return text_.kind == kTransformer || text_.kind == kTransformerRecomputing; }

  /// Time that no node has had yet goes to a later one: Chakra counts whole microseconds.
  Id compute(size_t index, LayerPass pass, const char* suffix, const Ids& after) {
    const uint64_t unit = options_.micros ? 1 : 1000;
    carried_ += layer(index).time[pass];
    const uint64_t micros = carried_ / unit;
    carried_ %= unit;
    return nodes_.compute(fmt::format("COMP_NODE_{}_{}", layer(index).name, suffix), micros, 0, Bytes(0), after);
  }

  /// Its nodes, one after another; `after` itself when nothing is communicated.
  Ids collective(size_t index, LayerPass pass, const char* infix, const Ids& after) {
    const LayerCollective& collective = layer(index).collective[pass];
    const Members members = members_of(index, pass);
    if (collective.kinds.empty() || members.size == 1) return after;
    const std::string group = name_of(members);
    Ids last = after;
    for (const chakra::CollectiveCommType kind : collective.kinds) {
      last = {nodes_.collective(fmt::format("COMM_COLL_NODE_{}_{}{}", layer(index).name, infix, collective.name), kind,
                                group, collective.size, last)};
    }
    return last;
  }

  Members members_of(size_t index, LayerPass pass) const {
    const LayerCollective& collective = layer(index).collective[pass];
    if (collective.scope == LayerScope::kExpert) return division_.expert_of(rank_);
    if (collective.scope == LayerScope::kDataWithExpert) return division_.data_with_expert_of(rank_);
    const bool weights = pass == kWeightGradient;
    switch (text_.kind == kHybridCustomized ? layer(index).policy : text_.kind) {
      case kHybridModelData:
        return weights ? division_.inner_data_of(rank_) : division_.outer_model_of(rank_);
      case kHybridDataModel:
      case kTransformer:
      case kTransformerRecomputing:
        return weights ? division_.data_of(rank_) : division_.model_of(rank_);
      default:
        return division_.everyone();
    }
  }

  std::string name_of(const Members& members) {
    if (members.size == division_.ranks) return "0";
    std::string name = fmt::format("{}_ranks_from_{}_by_{}", members.size, members.first, members.stride);
    groups_.emplace(name, members);
    return name;
  }

  void write_micro() {
    for (size_t i = 0; i < text_.layers.size(); ++i) collective(i, kWeightGradient, "", {});
  }

  /// `last_` and what the layer's weights of the pass before still wait for.
  Ids ready_for(size_t index) {
    Ids after = last_;
    const Ids weights = std::exchange(weights_[index], {});
    after.insert(after.end(), weights.begin(), weights.end());
    return after;
  }

  void forward() {
    for (size_t i = 0; i < text_.layers.size(); ++i) {
      last_ = {compute(i, kForward, "FWD", ready_for(i))};
      if (text_.kind != kData) last_ = collective(i, kForward, "", last_);
    }
  }

  /// The embedding's all-to-all runs beside the bottom layers, and the last of these waits for it.
  void forward_dlrm() {
    Ids exchange;
    for (size_t i = 0; i < text_.layers.size(); ++i) {
      Ids after = ready_for(i);
      if (i == text_.last_bottom_layer) after.insert(after.end(), exchange.begin(), exchange.end());
      last_ = {compute(i, kForward, "FWD", after)};
      if (i == 0 && text_.layers.size() > 1) exchange = collective(0, kForward, "", last_);
    }
  }

  /// DATA and DLRM: a layer's weight gradient, its collective, its input gradient.
  void backward_weights_first() {
    Ids exchange;
    for (size_t i = text_.layers.size(); i-- > 0;) {
      Ids after = last_;
      if (i == 0) after.insert(after.end(), exchange.begin(), exchange.end());
      last_ = {compute(i, kWeightGradient, "BWD_WG", after)};
      weights_[i] = collective(i, kWeightGradient, "", last_);
      if (weights_[i] == last_) weights_[i].clear();
      if (i > 0) last_ = {compute(i, kInputGradient, "BWD_IG", last_)};
      if (text_.kind == kDlrm && i == text_.last_bottom_layer + size_t{1}) {
        exchange = collective(0, kInputGradient, "", last_);
      }
    }
  }

  /// The others: a layer's input gradient, its collective, its weight gradient beside that, whose collective goes on
  /// beside all that follows.
  void backward_inputs_first() {
    const bool both = text_.kind != kModel;
    for (size_t i = text_.layers.size(); i-- > 0;) {
      if (text_.kind == kTransformerRecomputing) forward_again(i);
      const Ids inputs = {compute(i, kInputGradient, "BWD_IG", last_)};
      // The first layer's inputs are nobody's outputs; only the loop of the transformers does not look.
      const Ids exchanged =
          i > 0 || is_transformer() ? collective(i, kInputGradient, both ? "IG_COMM__" : "", inputs) : inputs;
      const Ids weights = {compute(i, kWeightGradient, "BWD_WG", inputs)};
      if (both) {
        weights_[i] = collective(i, kWeightGradient, "", weights);
        if (weights_[i] == weights) weights_[i].clear();
      }
      last_ = weights;
      if (exchanged != inputs) last_.insert(last_.end(), exchanged.begin(), exchanged.end());
    }
  }

  void forward_again(size_t index) {
    if (std::ranges::find(text_.initiates, index) == text_.initiates.end()) return;
    uint32_t from = 0;
    for (const uint32_t checkpoint : text_.checkpoints) {
      if (checkpoint <= index) from = std::max(from, checkpoint);
    }
    for (size_t i = from; i < index; ++i) {
      last_ = {compute(i, kForward, "FWD_IN_BCKWD", last_)};
      last_ = collective(i, kForward, "FWD_IN_BCKWD_", last_);
    }
  }

  const LayerText& text_;
  const LayerOptions& options_;
  const Division& division_;
  const uint32_t rank_;
  NodeWriter& nodes_;
  Groups& groups_;
  uint64_t carried_ = 0;
  Ids last_;                  ///< what the next computation follows
  std::vector<Ids> weights_;  ///< by layer: the collective of its weights' gradients
};

}  // namespace

Conversion convert_layers(const std::string& path, const LayerOptions& options, const std::filesystem::path& folder,
                          ConversionProgress& progress) {
  Conversion conversion;
  const LayerText text = parse_layer_text(path, read_text_file(path), conversion.warnings);
  const Division division = divide(path, text, options);
  TraceFolder traces(folder);
  conversion.prefix = traces.prefix();
  progress.total = division.ranks;
  Groups groups;
  for (uint32_t rank = 0; rank < division.ranks; ++rank) {
    NodeWriter nodes(trace_file(conversion.prefix, rank));
    LayerGraph(text, options, division, rank, nodes, groups).write();
    if (nodes.counts().nodes == 0) fail_input("{}: nothing computes or communicates", path);
    conversion.add(nodes);
    ++progress.done;
  }
  std::vector<ProcessGroup> definitions;
  for (const auto& [name, members] : groups) {
    ProcessGroup& group = definitions.emplace_back(ProcessGroup{name, {}});
    for (uint32_t i = 0; i < members.size; ++i) group.ranks.push_back(members.first + int64_t{i} * members.stride);
  }
  conversion.write_groups(definitions);
  traces.keep();
  return conversion;
}

}  // namespace rankwire
