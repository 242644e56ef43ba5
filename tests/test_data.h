// Where tests find optional data.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/temporary_folder.h"

namespace rankwire::testing {

/// The file under RANKWIRE_TEST_DATA (the environment's, else the build's), or an empty path when it is absent.
inline std::filesystem::path test_data(const std::string& relative) {
  const char* root = std::getenv("RANKWIRE_TEST_DATA");
  const auto path = std::filesystem::path(root != nullptr ? root : RANKWIRE_TEST_DATA) / relative;
  return std::filesystem::exists(path) ? path : std::filesystem::path{};
}

/// Unpacks an archive into the folder; the test fails where that fails.
inline void unpack(const std::filesystem::path& archive, const TemporaryFolder& folder) {
  const std::string command = "tar xf '" + archive.string() + "' -C '" + folder.path().string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

#define RANKWIRE_REQUIRE_DATA(variable, relative)                                  \
  const std::filesystem::path variable = ::rankwire::testing::test_data(relative); \
  if (variable.empty()) GTEST_SKIP() << "no " << relative << " under RANKWIRE_TEST_DATA"

}  // namespace rankwire::testing
