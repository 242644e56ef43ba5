#include "emulator/assembly/generate.h"

#include "converters/collective_series.h"
#include "converters/dlrm.h"
#include "converters/mlp.h"
#include "converters/transformer.h"

namespace rankwire {
namespace {

TransformerModel transformer_model(const GenerateConfig& c) {
  return {.layers = c.layers,
          .hidden = c.hidden,
          .sequence = c.sequence,
          .vocabulary = c.vocabulary,
          .micro_batches = c.micro_batches,
          .micro_batch_size = c.micro_batch_size,
          .element = c.element,
          .tensor_parallel = c.tensor_parallel,
          .pipeline_parallel = c.pipeline_parallel,
          .data_parallel = c.data_parallel,
          .zero = c.zero,
          .ffn = c.ffn,
          .gated = c.gated,
          .key_value = c.key_value,
          .experts = c.experts,
          .experts_per_token = c.experts_per_token,
          .expert_parallel = c.expert_parallel,
          .order = c.data_first ? TransformerModel::Order::kDataTensor : TransformerModel::Order::kTensorData,
          .peak_flops = c.peak_flops};
}

MlpModel mlp_model(const GenerateConfig& c) {
  return {.layers = c.mlp.layers,
          .width = c.mlp.width,
          .batch = c.mlp.batch,
          .element = c.element,
          .model_parallel = c.mlp.model_parallel,
          .data_parallel = c.mlp.data_parallel,
          .order = c.mlp.data_first ? MlpModel::Order::kModelData : MlpModel::Order::kDataModel,
          .peak_flops = c.peak_flops};
}

DlrmModel dlrm_model(const GenerateConfig& c) {
  return {.ranks = c.dlrm.ranks,
          .batch = c.dlrm.batch,
          .tables = c.dlrm.tables,
          .embedding = c.dlrm.embedding,
          .lookups = c.dlrm.lookups,
          .dense = c.dlrm.dense,
          .bottom = c.dlrm.bottom,
          .top = c.dlrm.top,
          .element = c.element,
          .peak_flops = c.peak_flops};
}

CollectiveSeries collective_series(const CollectiveSeriesConfig& c) {
  return {.series = c.series(), .warmup = c.warmup, .iterations = c.iterations, .root = c.root, .barrier = c.barrier};
}

}  // namespace

GeneratedTraces generate(const GenerateConfig& config, const std::string& prefix) {
  switch (config.kind) {
    case GeneratedKind::kTransformer:
      return generate_transformer(transformer_model(config), prefix);
    case GeneratedKind::kMlp:
      return generate_mlp(mlp_model(config), prefix);
    case GeneratedKind::kDlrm:
      return generate_dlrm(dlrm_model(config), prefix);
    case GeneratedKind::kCollective:
      return generate_collective_series(collective_series(config.collective), prefix);
  }
  return {};
}

}  // namespace rankwire
