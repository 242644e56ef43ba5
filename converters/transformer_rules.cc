#include <fmt/format.h>

#include <numeric>

#include "base/message.h"
#include "converters/storage.h"
#include "converters/transformer.h"

namespace rankwire {
namespace {

// Of a matrix, and of draws for one row of it: 128 MiB each.
constexpr uint32_t kMostRoutedRanks = 4'096;
constexpr int64_t kMostRoutedTokens = 1 << 24;

/// Keeps the first contradiction.
class TransformerRules {
 public:
  explicit TransformerRules(const TransformerModel& model) : model_(model) {}

  std::optional<WrongModel> first_wrong() {
    check_ranges();
    if (wrong_) return wrong_;
    check_division();
    check_heads();
    check_context();
    check_experts();
    check_routing();
    check_pipeline();
    check_parameters();
    positive("steps", model_.steps);
    if (const auto wrong = wrong_storage(model_.storage, model_.steps); wrong && !wrong_) wrong_ = wrong;
    return wrong_;
  }

 private:
  template <class... Args>
  void refuse_if(bool wrong, const char* key, fmt::format_string<Args...> format, Args&&... args) {
    if (wrong && !wrong_) wrong_ = {key, fmt::format(format, std::forward<Args>(args)...)};
  }
  void positive(const char* key, int64_t value) { refuse_if(value < 1, key, "is {}, must be at least 1", value); }
  void multiple(const char* key, int64_t value, const char* parts_key, int64_t parts) {
    if (value % parts == 0 || wrong_) return;
    wrong_ = {key, fmt::format("{} is not a multiple of {} {}", value, parts_key, parts), parts_key};
  }

  void check_ranges() {
    const TransformerModel& m = model_;
    positive("layers", m.layers), positive("hidden", m.hidden), positive("sequence", m.sequence);
    positive("vocabulary", m.vocabulary), positive("micro_batches", m.micro_batches);
    positive("micro_batch_size", m.micro_batch_size), positive("element", m.element.count);
    positive("tensor_parallel", m.tensor_parallel), positive("pipeline_parallel", m.pipeline_parallel);
    positive("data_parallel", m.data_parallel), positive("context_parallel", m.context_parallel);
    positive("peak", m.peak_flops), positive("virtual_stages", m.virtual_stages);
    positive("shard_replicas", m.shard_replicas), positive("experts", m.experts);
    positive("experts_per_token", m.experts_per_token), positive("expert_parallel", m.expert_parallel);
    positive("expert_interval", m.expert_interval), positive("routing.node_ranks", m.routing.node_ranks);
    refuse_if(m.zero > 3, "zero", "is {}, stages are 0 to 3", m.zero);
    for (const uint32_t degree : {m.tensor_parallel, m.pipeline_parallel, m.data_parallel, m.context_parallel})
      refuse_if(degree > MessageId::kMaxRanks, "data_parallel", "makes more than {} ranks", MessageId::kMaxRanks);
  }

  void check_division() {
    const TransformerModel& m = model_;
    if (!m.pipeline_layers.empty()) {
      check_pipeline_layers();
    } else if (m.virtual_stages == 1) {
      multiple("layers", m.layers, "pipeline_parallel", m.pipeline_parallel);
    } else {
      multiple("layers", m.layers, "pipeline_parallel x virtual_stages",
               int64_t{m.pipeline_parallel} * m.virtual_stages);
    }
    multiple("hidden", m.hidden, "tensor_parallel", m.tensor_parallel);
    multiple("ffn", m.ffn, "tensor_parallel", m.tensor_parallel);
    multiple("key_value", m.key_value, "tensor_parallel", m.tensor_parallel);
    multiple("expert_ffn", m.expert_ffn, "tensor_parallel", m.tensor_parallel);
    multiple("data_parallel", int64_t{m.data_parallel} * m.context_parallel, "shard_replicas", m.shard_replicas);
  }

  void check_pipeline_layers() {
    const TransformerModel& m = model_;
    const uint64_t parts = uint64_t{m.pipeline_parallel} * m.virtual_stages;
    refuse_if(m.pipeline_layers.size() != parts, "pipeline_layers",
              "has {} numbers; it must have {}, one of each of pipeline_parallel {} stages x virtual_stages {}",
              m.pipeline_layers.size(), parts, m.pipeline_parallel, m.virtual_stages);
    const uint64_t sum = std::accumulate(m.pipeline_layers.begin(), m.pipeline_layers.end(), uint64_t{0});
    refuse_if(sum != m.layers, "pipeline_layers", "are {} together, but layers are {}", sum, m.layers);
  }

  int64_t head_size() const { return model_.head_size > 0 ? model_.head_size : model_.hidden / model_.heads; }
  int64_t key_value_heads() const { return model_.key_value_heads > 0 ? model_.key_value_heads : model_.heads; }

  void check_heads() {
    const TransformerModel& m = model_;
    if (m.heads == 0) {
      refuse_if(m.key_value_heads > 0, "key_value_heads", "needs 'heads'");
      refuse_if(m.head_size > 0, "head_size", "needs 'heads'");
      refuse_if(m.latent.used() || m.latent.query > 0 || m.latent.rope > 0, "latent", "needs 'heads'");
      return;
    }
    if (m.head_size == 0) multiple("hidden", m.hidden, "heads", m.heads);
    multiple("heads", m.heads, "key_value_heads", key_value_heads());
    multiple("heads", m.heads, "tensor_parallel", m.tensor_parallel);
    refuse_if(key_value_heads() % m.tensor_parallel != 0, "tensor_parallel",
              "{} does not divide key_value_heads {}; it can be {} at most", m.tensor_parallel, key_value_heads(),
              key_value_heads());
    refuse_if(m.key_value > 0 && m.key_value != key_value_heads() * head_size(), "key_value",
              "{} is not key_value_heads {} x head_size {}, {}", m.key_value, key_value_heads(), head_size(),
              key_value_heads() * head_size());
    refuse_if(!m.latent.used() && (m.latent.query > 0 || m.latent.rope > 0), "latent", "needs 'key_value'");
    refuse_if(m.latent.used() && key_value_heads() != m.heads, "key_value_heads",
              "{} are not the {} heads, each of which has keys and values of its own with 'latent'", key_value_heads(),
              m.heads);
  }

  void check_context() {
    const TransformerModel& m = model_;
    const int64_t ranks = m.context_parallel;
    multiple("sequence", m.sequence, "context_parallel", ranks);
    if (m.sequence_parallel)
      multiple("sequence", m.sequence, "context_parallel x tensor_parallel", ranks * m.tensor_parallel);
    const bool ring = ranks > 1 && m.context == TransformerModel::Context::kRing;
    refuse_if(m.causal == TransformerModel::Causal::kContiguous && !ring, "causal",
              "contiguous is for context_parallel above 1 with 'context: ring'; elsewhere ranks have equal work: on");
    if (ring && m.causal == TransformerModel::Causal::kBalanced)
      multiple("sequence", m.sequence, "2 x context_parallel", 2 * ranks);
    if (ranks == 1 || ring) return;
    refuse_if(m.heads == 0, "context", "all_to_all exchanges heads; needs 'heads'");
    if (m.heads == 0) return;
    multiple("heads", m.heads, "tensor_parallel x context_parallel", ranks * m.tensor_parallel);
    multiple("key_value_heads", key_value_heads(), "tensor_parallel x context_parallel", ranks * m.tensor_parallel);
  }

  void check_experts() {
    const TransformerModel& m = model_;
    if (m.experts == 1) {
      refuse_if(m.shared_experts > 0, "shared_experts", "needs 'experts' above 1");
      refuse_if(m.dense_layers > 0, "dense_layers", "needs 'experts' above 1");
      refuse_if(m.expert_interval > 1, "expert_interval", "needs 'experts' above 1");
      refuse_if(m.expert_ffn > 0, "expert_ffn", "needs 'experts' above 1");
      refuse_if(m.routing != RoutingModel(), "routing", "needs 'experts' above 1");
    }
    multiple("experts", m.experts, "expert_parallel", m.expert_parallel);
    if (m.context_parallel == 1 && m.shard_replicas == 1) {
      multiple("data_parallel", m.data_parallel, "expert_parallel", m.expert_parallel);
    } else {
      refuse_if(int64_t{m.data_ranks()} % (int64_t{m.expert_parallel} * m.shard_replicas) != 0, "expert_parallel",
                "{} x shard_replicas {} does not divide data_parallel {} x context_parallel {}", m.expert_parallel,
                m.shard_replicas, m.data_parallel, m.context_parallel);
    }
    refuse_if(m.experts_per_token > m.experts, "experts_per_token", "{} is above experts {}", m.experts_per_token,
              m.experts);
    refuse_if(m.dense_layers > m.layers, "dense_layers", "{} is above layers {}", m.dense_layers, m.layers);
  }

  void check_routing() {
    const RoutingModel& r = model_.routing;
    const bool zipf = r.popularity == RoutingModel::Popularity::kZipf;
    if (const auto wrong = wrong_routing(r); wrong && !wrong_) wrong_ = {"routing." + wrong->key, wrong->text};
    const bool drawn = r.popularity != RoutingModel::Popularity::kBalanced || r.capacity > 0;
    refuse_if(
        drawn && model_.expert_parallel > kMostRoutedRanks, "expert_parallel",
        "{} is above {}, the most between which tokens are counted; more need 'routing: {{popularity: balanced}}'",
        model_.expert_parallel, kMostRoutedRanks);
    refuse_if(drawn && model_.micro_batch_size > kMostRoutedTokens / (model_.sequence / model_.context_parallel + 1),
              "micro_batch_size", "{} makes more than {} tokens of a rank, the most that are routed one by one",
              model_.micro_batch_size, kMostRoutedTokens);
    if (r.node_limit == 0) return;
    const uint32_t ranks = model_.expert_parallel, nodes = ranks / r.node_ranks;
    refuse_if(!zipf, "routing.node_limit", "is for 'popularity: zipf', whose exponent 0 is chance alone");
    refuse_if(ranks % r.node_ranks != 0, "routing.node_ranks", "{} does not divide expert_parallel {}", r.node_ranks,
              ranks);
    refuse_if(r.node_limit > nodes, "routing.node_limit", "{} is above the {} nodes of expert_parallel {}",
              r.node_limit, nodes, ranks);
    refuse_if(model_.experts_per_token % r.node_limit != 0, "routing.node_limit",
              "{} does not divide experts_per_token {}", r.node_limit, model_.experts_per_token);
    refuse_if(nodes > 0 && model_.experts_per_token / r.node_limit > model_.experts / nodes, "routing.node_limit",
              "{} leaves {} experts of a token in each node, which has {}", r.node_limit,
              model_.experts_per_token / r.node_limit, model_.experts / (nodes > 0 ? nodes : 1));
  }

  void check_pipeline() {
    const TransformerModel& m = model_;
    if (m.pipeline == PipelineOrder::kInterleaved) {
      refuse_if(m.virtual_stages < 2, "virtual_stages", "is 1; 'pipeline: interleaved' has 2 or more");
      refuse_if(m.pipeline_parallel < 2, "pipeline_parallel", "is 1; 'pipeline: interleaved' has 2 or more");
      multiple("micro_batches", m.micro_batches, "pipeline_parallel", m.pipeline_parallel);
      return;
    }
    refuse_if(m.virtual_stages > 1, "virtual_stages", "{} is for 'pipeline: interleaved'", m.virtual_stages);
    if (m.pipeline != PipelineOrder::kDualPipe) return;
    refuse_if(m.pipeline_parallel % 2 != 0, "pipeline_parallel", "{} is odd; 'pipeline: dualpipe' has pairs of stages",
              m.pipeline_parallel);
    refuse_if(m.micro_batches % 2 != 0 || m.micro_batches < 2 * m.pipeline_parallel, "micro_batches",
              "{}: 'pipeline: dualpipe' has an even number of them, at least 2 x pipeline_parallel {}", m.micro_batches,
              m.pipeline_parallel);
  }

  void check_parameters() {
    const TransformerModel& m = model_;
    refuse_if(m.zero == 0 && m.shard_replicas > 1, "shard_replicas", "{} is for zero 1 to 3", m.shard_replicas);
    refuse_if(m.zero != 3 && !m.reshard_after_forward, "reshard_after_forward", "is for zero 3");
    refuse_if(m.zero != 3 && m.prefetch != 1, "prefetch", "is for zero 3");
  }

  const TransformerModel& model_;
  std::optional<WrongModel> wrong_;
};

}  // namespace

std::optional<WrongModel> wrong_transformer(const TransformerModel& model) {
  return TransformerRules(model).first_wrong();
}

}  // namespace rankwire
