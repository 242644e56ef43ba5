#include "emulator/serve/kept_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "emulator/serve/serve_error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

// SHA-256 of "abc" (FIPS 180-2, appendix B.1).
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

KeptRuns::Body body_of(const std::string& text) {
  return [text](const auto& sink) { return sink(text.substr(0, 1)) && sink(text.substr(1)); };
}

int status_of_failure(const std::function<void()>& work) {
  try {
    work();
  } catch (const ServeError& error) {
    return error.status();
  }
  return 0;
}

TEST(KeptRuns, FilesAreKeptByTheirDigestAlone) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {});
  EXPECT_TRUE(store.keep_file(kAbc, body_of("abc")));
  EXPECT_FALSE(store.keep_file(kAbc, body_of("abc")));
  EXPECT_EQ(status_of_failure([&] { store.keep_file(kAbc, body_of("abd")); }), 400);
  EXPECT_EQ(status_of_failure([&] { store.keep_file("../x", body_of("abc")); }), 400);
  EXPECT_EQ(status_of_failure([&] { store.new_run("", {{"x", std::string(64, '0')}}, {}); }), 400);
  const std::string id = store.new_run("name: x", {{"x.et", kAbc}}, {});
  EXPECT_EQ(std::filesystem::file_size(store.folder(id) / "x.et"), 3u);
  EXPECT_THAT(store.artefacts(id), ElementsAre("configuration.yaml"));
  EXPECT_EQ(status_of_failure([&] { store.artefact(id, "x.et"); }), 404);
  EXPECT_EQ(status_of_failure([&] { store.artefact("../files", kAbc); }), 404);
}

TEST(KeptRuns, OldRunsGoThatAreNotActive) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {.quota = 1000, .keep = 2});
  const std::string first = store.new_run("", {}, {}), second = store.new_run("", {}, {first});
  const std::string third = store.new_run("", {}, {first});
  EXPECT_THAT(store.runs(), ElementsAre(first, third));
  std::ofstream(store.folder(third) / "log.txt") << std::string(1000, 'x');
  EXPECT_EQ(status_of_failure([&] { store.keep_file(kAbc, body_of("abc")); }), 507);
  EXPECT_EQ(status_of_failure([&] { store.new_run("", {}, {first, third}); }), 507);
  const std::string fourth = store.new_run("", {}, {});
  EXPECT_THAT(store.runs(), ElementsAre(fourth));
}

TEST(KeptRuns, AFileThatIsKnownNeedsNoRoom) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {.quota = 1000});
  EXPECT_TRUE(store.keep_file(kAbc, body_of("abc")));
  std::ofstream(folder.path() / "runs" / "full") << std::string(1000, 'x');
  EXPECT_FALSE(store.keep_file(kAbc, body_of("abc")));
  EXPECT_EQ(status_of_failure([&] { store.keep_file(kAbc, body_of("abd")); }), 400);
}

TEST(KeptRuns, AFileAmongRunsIsNoRun) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {});
  const std::string id = store.new_run("", {}, {});
  std::ofstream(folder.path() / "runs" / "r000003") << "x";
  EXPECT_THAT(store.runs(), ElementsAre(id));
}

TEST(KeptRuns, ASymbolicLinkIsNoArtefact) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {});
  const std::string id = store.new_run("", {}, {});
  std::filesystem::create_directory(store.folder(id) / "out");
  std::filesystem::create_symlink("/etc/passwd", store.folder(id) / "out" / "passwd");
  EXPECT_THAT(store.artefacts(id), ElementsAre("configuration.yaml"));
}

TEST(KeptRuns, OneServerUsesAFolderAndTheNextKnowsItsRuns) {
  const testing::TemporaryFolder folder;
  std::string id;
  {
    KeptRuns store(folder.path(), {});
    EXPECT_THROW(KeptRuns(folder.path(), {}), Error);
    id = store.new_run("", {}, {});
  }
  KeptRuns store(folder.path(), {});
  EXPECT_THAT(store.runs(), ElementsAre(id));
  EXPECT_NE(store.new_run("", {}, {}), id);
}

}  // namespace
}  // namespace rankwire
