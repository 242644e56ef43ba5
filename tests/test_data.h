// Where tests find optional data, and the temporary folder that each test may write to.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace rankwire::testing {

/// The file under RANKWIRE_TEST_DATA (the environment's, else the build's), or an empty path when it is absent.
inline std::filesystem::path test_data(const std::string& relative) {
  const char* root = std::getenv("RANKWIRE_TEST_DATA");
  const auto path = std::filesystem::path(root != nullptr ? root : RANKWIRE_TEST_DATA) / relative;
  return std::filesystem::exists(path) ? path : std::filesystem::path{};
}

#define RANKWIRE_REQUIRE_DATA(variable, relative)                                  \
  const std::filesystem::path variable = ::rankwire::testing::test_data(relative); \
  if (variable.empty()) GTEST_SKIP() << "no " << relative << " under RANKWIRE_TEST_DATA"

/// A folder of the test's own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "rankwire-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace rankwire::testing
