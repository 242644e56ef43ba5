#include "emulator/assembly/generate.h"

#include "converters/collective_series.h"
#include "converters/dlrm.h"
#include "converters/mlp.h"
#include "converters/transformer.h"

namespace rankwire {
namespace {

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
      return generate_transformer(config.whole_transformer(), prefix);
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
