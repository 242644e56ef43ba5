#include "converters/model_presets.h"

#include <gtest/gtest.h>

namespace rankwire {
namespace {

// What the checkpoints on their model cards have together, and what of it is not in matrices: norms of `hidden`
// weights, two a layer and one at the end.
struct Published {
  const char* name;
  int64_t parameters, norms;
};

TEST(ModelPresets, HaveTheParametersOfTheirCheckpoints) {
  const Published published[] = {{"llama3-8b", 8'030'261'248, 65 * 4'096},
                                 {"llama3-70b", 70'553'706'496, 161 * 8'192},
                                 {"llama3-405b", 405'853'388'800, 253 * 16'384},
                                 {"mixtral-8x7b", 46'702'792'704, 65 * 4'096},
                                 {"mixtral-8x22b", 140'620'634'112, 113 * 6'144}};
  for (const Published& model : published) {
    ASSERT_NE(find_model(model.name), nullptr) << model.name;
    EXPECT_EQ(model_parameters(*find_model(model.name)), model.parameters - model.norms) << model.name;
  }
}

// 671B parameters, of which 37B are active (arXiv 2412.19437, abstract): 36.6B with the output, but not the input (the
// README_WEIGHTS.md of its first release).
TEST(ModelPresets, DeepSeekHasWhatIsActivePublished) {
  const ModelPreset& model = *find_model("deepseek-v3");
  EXPECT_EQ(model_parameters(model) / 1'000'000'000, 671);
  EXPECT_EQ((active_parameters(model) - model.vocabulary * model.hidden) / 100'000'000, 366);
}

// 174,600M parameters (Brown et al., table D.1), of which 2,048 positions of 12,288 and 13 h a layer of biases and
// norms are no matrices of a layer: 174.56e9 + 0.025e9 + 0.015e9.
TEST(ModelPresets, Gpt3HasWhatIsPublished) {
  const ModelPreset& model = *find_model("gpt3-175b");
  const int64_t rest = 2'048 * 12'288 + 96 * 13 * 12'288 + 2 * 12'288;
  EXPECT_EQ((model_parameters(model) + rest + 50'000'000) / 100'000'000, 1'746);
}

TEST(ModelPresets, AreFoundByTheirNames) {
  EXPECT_EQ(find_model("llama3-9b"), nullptr);
  for (const ModelPreset& model : model_presets()) {
    EXPECT_EQ(find_model(model.name), &model);
    EXPECT_FALSE(model.source.empty());
    EXPECT_EQ(model.heads % model.key_value_heads, 0) << model.name;
  }
}

}  // namespace
}  // namespace rankwire
