#include "emulator/assembly/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/input/tree.h"
#include "tests/assembly/tiny_run.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

/// Two ranks, tensor parallel: their steps all-reduce, and nobody sends or gathers.
RunConfig limited(size_t operation) {
  RunConfig config = tiny_run(2, 1);
  config.ports = memory_ports(2);
  config.limits.emplace().busbw[operation] = Bandwidth(1'000'000'000);
  config.places = KeyPlaces(read_yaml_text("limits: {busbw: {all_reduce: 1Gbps, send: 1Gbps}}", {"run.yaml:9", ""}));
  return config;
}

TEST(Limits, OfOperationsMustBeOfSome) {
  static_assert(std::string_view(kLimitedOperations.front()) == "all_reduce");
  static_assert(std::string_view(kLimitedOperations.back()) == "send");
  const TemporaryFolder folder;
  {
    rankwire::Setup setup;
    EXPECT_NO_THROW(prepare(setup, limited(0), folder.path()));
  }
  rankwire::Setup setup;
  try {
    prepare(setup, limited(kLimitedOperations.size() - 1), folder.path());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("run.yaml:9: limits.busbw.send: no rank carries such an operation out"));
  }
}

}  // namespace
}  // namespace rankwire
