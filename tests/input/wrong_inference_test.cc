// What a person reads who described an inference service wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>

#include "emulator/input/config.h"
#include "emulator/input/validate_generate.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

struct WrongService {
  const char* name;
  const char* text;   ///< behind "kind: inference"
  const char* error;  ///< after the file
};

constexpr WrongService kWrongServices[] = {
    {"NoPools", "", ":1: inference.prefill: there is no such pool; give prefill and decode, or mixed"},
    {"NoDecode", "inference: {prefill: {}}", ":2: inference.decode: there is no such pool"},
    {"ThreePools", "inference:\n  prefill: {}\n  mixed: {}", ":4: inference.mixed: contradicts inference.prefill"},
    {"Heads", "inference:\n  mixed:\n    tensor_parallel: 3",
     ":4: inference.mixed.tensor_parallel: attention.heads 32 is not a multiple of 3"},
    {"KeyValueHeads", "inference:\n  attention: {heads: 12, kv_heads: 6}\n  mixed: {tensor_parallel: 4}",
     ":4: inference.mixed.tensor_parallel: 4 and attention.kv_heads 6: one must be a multiple of the other"},
    {"HeadsOfKeys", "inference: {attention: {heads: 12, kv_heads: 5}, mixed: {}}",
     ":2: inference.attention.kv_heads: heads 12 is not a multiple of 5"},
    {"QueriesAlone", "inference: {attention: {query_latent: 64}, mixed: {}}",
     ":2: inference.attention.query_latent: is for attention with a latent alone"},
    {"Experts", "experts: 6\ninference: {mixed: {expert_parallel: 4}}",
     ":3: inference.mixed.expert_parallel: experts 6 is not a multiple of 4"},
    {"TokensOfABatch", "inference: {mixed: {max_tokens: 8}}",
     ":2: inference.mixed.max_tokens: 8 is below max_requests 64"},
    {"NoRate", "inference: {mixed: {}, arrivals: {rate: 0}}", ":2: inference.arrivals.rate: '0' is not a number of"},
    {"BurstsOfPoisson", "inference: {mixed: {}, arrivals: {cv: 3}}",
     ":2: inference.arrivals.cv: is for 'process: gamma'"},
    {"RateOfAFile", "inference: {mixed: {}, arrivals: {process: csv, file: /dev/null, rate: 5}}",
     ":2: inference.arrivals.rate: is not for 'process: csv', whose file has the times"},
    {"SpreadOfFixedTokens", "inference: {mixed: {}, output: {cv: 2}}",
     ":2: inference.output.cv: is for 'distribution: lognormal'"},
    {"NoTokens", "inference: {mixed: {}, input: {mean: 0}}", ":2: inference.input.mean: 0 is outside 1 .. 16777216"},
    {"MeanOutside", "inference: {mixed: {}, output: {mean: 64, max: 32}}",
     ":2: inference.output.mean: 64 is outside min 1 .. max 32"},
    {"NoFile", "inference: {mixed: {}, arrivals: {process: csv}}", ":2: inference.arrivals.file: is required"},
    {"FileThatIsNotThere", "inference: {mixed: {}, arrivals: {process: csv, file: /absent.csv}}",
     ":2: inference.arrivals.file: there is no file /absent.csv"},
    {"CacheWithoutRanks", "inference: {mixed: {}, cache: {hit: 10%}}",
     ":2: inference.cache.ranks: requests hit a cache without ranks"},
    {"NoMemory", "inference: {mixed: {kv_memory: 0B}}", ":2: inference.mixed.kv_memory: "},
    {"SharedAlone", "shared_experts: 1\ninference: {mixed: {}}", ":2: shared_experts: needs 'experts' above 1"},
    {"WidthOfExperts", "experts: 2\nexpert_ffn: 5\ninference: {mixed: {}}",
     ":4: inference.mixed.tensor_parallel: expert_ffn 5 is not a multiple of 2"},
    {"DenseLayers", "experts: 2\ndense_layers: 9\ninference: {mixed: {}}", ":3: dense_layers: 9 is above layers 4"},
    {"Capacity", "experts: 2\nrouting: {capacity: 1}\ninference: {mixed: {}}",
     ":3: routing.capacity: is for training; a service drops no tokens"},
    {"Drift", "experts: 2\nrouting: {drift: 5}\ninference: {mixed: {}}",
     ":3: routing.drift: is for 'popularity: zipf'"},
    {"KeyOfTraining", "micro_batches: 4\ninference: {mixed: {}}", ":2: micro_batches: is not for 'kind: inference'"},
};

void PrintTo(const WrongService& wrong, std::ostream* stream) {
  *stream << wrong.name;
}

class WrongInference : public ::testing::TestWithParam<WrongService> {
 protected:
  GenerateConfig load(const std::string& text) {
    std::ofstream(file_) << "kind: inference\n" << text << '\n';
    return load_generated(file_);
  }

  testing::TemporaryFolder folder_;
  const std::string file_ = folder_ / "service.yaml";
};

TEST_P(WrongInference, IsToldWhere) {
  try {
    load(GetParam().text);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), ::testing::StartsWith(file_ + GetParam().error));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, WrongInference, ::testing::ValuesIn(kWrongServices),
                         [](const auto& test) { return std::string(test.param.name); });

// 2 x 4 ranks of prefill, 3 x 2 x 4 of decode, 2 of the cache.
TEST_F(WrongInference, HasTheRanksOfItsPools) {
  const GenerateConfig model = load(
      "hidden: 4096\nexperts: 8\ninference: {prefill: {instances: 2, tensor_parallel: 4}, decode: {instances: 3, "
      "tensor_parallel: 2, expert_parallel: 4}, cache: {ranks: 2}}");
  EXPECT_EQ(generated_ranks(model), 8u + 24 + 2);
}

}  // namespace
}  // namespace rankwire
