// Traces of one training step of a deep learning recommendation model (Naumov et al., "Deep Learning Recommendation
// Model for Personalization and Recommendation Systems", 2019): embedding tables model-parallel, the MLPs
// data-parallel.
//
// Each of n ranks has T / n of the T tables and b samples of its own. With embeddings of d elements
//
//   embeddings  a rank looks up all n b samples in its tables and sends every rank the vectors of that rank's samples:
//               all-to-all of n b (T / n) d = b T d elements, while the bottom MLP computes; the gradients go back the
//               same way in the backward pass
//   MLPs        the gradients of each layer are all-reduced over all ranks once they are computed
//
// The bottom MLP takes the dense features to a vector of d. The interaction multiplies each pair of the T + 1 vectors,
// so the top MLP has d + T (T + 1) / 2 inputs. Biases are left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/generated_traces.h"
#include "converters/storage_model.h"

namespace rankwire {

struct DlrmModel {
  uint32_t ranks = 4;
  int64_t batch = 128;                           ///< b, samples of a rank
  uint32_t tables = 8;                           ///< T, a multiple of `ranks`
  int64_t embedding = 64;                        ///< d
  int64_t lookups = 32;                          ///< of a sample in a table, whose vectors are summed up
  int64_t dense = 13;                            ///< features
  std::vector<int64_t> bottom = {512, 256, 64};  ///< outputs of the layers; the last is `embedding`
  std::vector<int64_t> top = {512, 256, 1};
  Bytes element = Bytes(4);                  ///< of parameters, gradients and activations
  int64_t peak_flops = 100'000'000'000'000;  ///< flop/s; a compute node takes flops / peak, at least 1 us
  int64_t rows = 1'000'000;                  ///< of a table; of account to checkpoints alone
  uint32_t steps = 1;
  StorageModel storage;
};

/// How many ranks train the model; those of storage come behind them. Throws Error(kInput) for a model that cannot be
/// divided as asked.
uint32_t dlrm_ranks(const DlrmModel& model);

/// Writes `<prefix>.<rank>.et` for every rank and the group `all` into `<prefix>.json`; errors and guarantees are those
/// of generate_transformer.
GeneratedTraces generate_dlrm(const DlrmModel& model, const NodeFiles& set);

}  // namespace rankwire
