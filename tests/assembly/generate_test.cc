#include "emulator/assembly/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;
using ::testing::ThrowsMessage;

GeneratedTraces generate_mlp_of(const TemporaryFolder& folder, uint64_t most) {
  GenerateConfig config;
  config.kind = GeneratedKind::kMlp;
  config.mlp.layers = 2, config.mlp.width = 8;
  NodeLimit limit(most, "there are more elsewhere");
  return generate(config, {.places = {}, .section = ""}, folder / "g", limit);
}

// Nodes are counted before anything is written: what is there stays as it is.
TEST(Generate, IsRefusedBeforeItWrites) {
  const TemporaryFolder folder;
  const GeneratedTraces made = generate_mlp_of(folder, 1'000);
  const auto size = std::filesystem::file_size(folder / "g.0.et");
  EXPECT_GT(made.nodes, 3u);
  EXPECT_THAT([&] { generate_mlp_of(folder, made.nodes - 1); }, ThrowsMessage<Error>(HasSubstr("more than ")));
  EXPECT_EQ(std::filesystem::file_size(folder / "g.0.et"), size);
  EXPECT_EQ(generate_mlp_of(folder, made.nodes).nodes, made.nodes);
}

// What only the drawing of requests shows is told with its key, and its place where there is one.
TEST(Generate, ErrorsOfRequestsNameTheirKey) {
  const TemporaryFolder folder;
  std::ofstream(folder / "spec.yaml") << "kind: inference\ninference:\n  mixed: {kv_memory: 1KiB}\n";
  KeyPlaces places;
  const GenerateConfig config = load_generated((folder / "spec.yaml").string(), &places);
  NodeLimit limit(1'000'000, "");
  EXPECT_THAT([&] { generate(config, {.places = places, .section = ""}, folder / "g", limit); },
              ThrowsMessage<Error>(HasSubstr("spec.yaml:3: inference.mixed.kv_memory: request 0 has keys and values")));
}

}  // namespace
}  // namespace rankwire
