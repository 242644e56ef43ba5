#include "emulator/serve/kept_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "base/error.h"
#include "emulator/serve/digest.h"
#include "emulator/serve/end_of_run.h"
#include "emulator/serve/serve_error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

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
  EXPECT_EQ(status_of_failure([&] { store.new_run("", {{"x", std::string(64, '0')}}); }), 400);
  const std::string id = store.new_run("name: x", {{"x.et", kAbc}});
  EXPECT_EQ(std::filesystem::file_size(store.folder(id) / "x.et"), 3u);
  EXPECT_THAT(store.artefacts(id), ElementsAre("configuration.yaml"));
  EXPECT_EQ(status_of_failure([&] { store.artefact(id, "x.et"); }), 404);
  EXPECT_EQ(status_of_failure([&] { store.artefact("../files", kAbc); }), 404);
}

TEST(KeptRuns, OldRunsGoThatHaveEnded) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {.quota = 1000, .keep = 2});
  const std::string first = store.new_run("", {}), second = store.new_run("", {});
  store.has_ended(second);
  const std::string third = store.new_run("", {});
  EXPECT_THAT(store.runs(), ElementsAre(first, third));
  std::ofstream(store.folder(third) / "log.txt") << std::string(1000, 'x');
  EXPECT_EQ(status_of_failure([&] { store.keep_file(kAbc, body_of("abc")); }), 507);
  EXPECT_EQ(status_of_failure([&] { store.new_run("", {}); }), 507);
  store.has_ended(third);
  EXPECT_TRUE(store.keep_file(kAbc, body_of("abc")));
  EXPECT_THAT(store.runs(), ElementsAre(first));
}

/// Uploads so many bytes of a letter; returns their digest.
std::string upload(KeptRuns& store, size_t bytes, char letter, bool is_announced = true) {
  const std::string text(bytes, letter);
  Sha256 digest;
  digest.add(text);
  std::string digits = digest.digits();
  store.keep_file(digits, body_of(text), is_announced ? bytes : 0);
  return digits;
}

std::set<std::string> digests(const KeptRuns& store) {
  std::set<std::string> all;
  for (const KeptRuns::KeptFile& file : store.files()) all.insert(file.sha256);
  return all;
}

/// No file of this process grows while it lives: a write fails with EFBIG, as on a full disk one does with ENOSPC.
class FullDisk {
 public:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const struct ::rlimit none { 0, before_.rlim_max };
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  struct ::rlimit before_ {};
  const sighandler_t handler_ = ::signal(SIGXFSZ, SIG_IGN);
};

TEST(KeptRuns, AWriteThatFailsSaysWhy) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {});
  // Between the write and its report a server does more, which has errors of its own.
  const KeptRuns::Body body = [](const auto& sink) {
    const bool goes_on = sink("abc");
    errno = ENOENT;
    return goes_on;
  };
  std::string why;
  {
    const FullDisk full;
    try {
      store.keep_file(kAbc, body);
    } catch (const ServeError& error) {
      why = error.what();
    }
  }
  EXPECT_EQ(why, std::string("the file cannot be written: ") + std::strerror(EFBIG));
  EXPECT_TRUE(store.keep_file(kAbc, body));
}

TEST(KeptRuns, TheEndOfARunIsThereWholeOrNotAtAll) {
  const testing::TemporaryFolder folder;
  const auto write = [&](const char* reason) {
    write_end_of_run(folder.path(), {.exit_status = 1, .last_words = "", .reason = reason});
  };
  {
    const FullDisk full;
    write("first");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  write("second");
  {
    const FullDisk full;
    write("third");
  }
  EXPECT_EQ(read_end_of_run(folder.path()).reason, "second");
}

TEST(KeptRuns, FilesThatNoRunHasGoFirst) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {.quota = 100});
  const auto run_with = [&](const std::string& digest) {
    std::string id = store.new_run("", {{"x", digest}});
    store.has_ended(id);
    return id;
  };
  const std::string older = upload(store, 30, 'a'), newer = upload(store, 30, 'b');
  EXPECT_EQ(status_of_failure([&] { upload(store, 50, 'c'); }), 507) << "both wait for their runs";
  for (const std::string& digest : {newer, older}) store.remove_run(run_with(digest));
  using std::chrono::hours;
  std::filesystem::last_write_time(folder.path() / "files" / older,
                                   std::filesystem::file_time_type::clock::now() - hours(1));
  const std::string third = upload(store, 50, 'c');  // 30 + 30 + 50 are 10 too many
  EXPECT_THAT(digests(store), UnorderedElementsAre(newer, third));
  // The other one goes before any run does; then the run with what only it had.
  const std::string run = run_with(third), fourth = upload(store, 50, 'd', false);
  EXPECT_THAT(digests(store), UnorderedElementsAre(third, fourth));
  EXPECT_THAT(store.runs(), ElementsAre(run));
  const std::string fifth = upload(store, 40, 'e');
  EXPECT_THAT(digests(store), UnorderedElementsAre(fourth, fifth));
  EXPECT_THAT(store.runs(), ElementsAre());
}

TEST(KeptRuns, ARunHasTheRoomThatItAsksFor) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {.quota = 1000});
  const std::string ended = store.new_run(std::string(300, 'x'), {}),
                    going_on = store.new_run("", {{"x", upload(store, 200, 'x')}});
  store.has_ended(ended);
  upload(store, 100, 'y');  // which waits for its run
  EXPECT_EQ(store.most_room(), 700u) << "what has ended may go";
  EXPECT_EQ(status_of_failure([&] { store.new_run("", {}, 701); }), 507);
  const std::string third = store.new_run("", {}, 400);
  EXPECT_THAT(store.runs(), ElementsAre(ended, going_on, third)) << "there were 400";
  EXPECT_EQ(store.most_room(), 700u);
  const std::string fourth = store.new_run("", {}, 700);
  EXPECT_THAT(store.runs(), ElementsAre(going_on, third, fourth));
}

TEST(KeptRuns, NothingGoesForWhatHasNoRoomAtAll) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {.quota = 100});
  const std::string run = store.new_run("", {}), going_on = store.new_run("", {{"x", upload(store, 50, 'x')}});
  store.has_ended(run);
  for (const bool is_announced : {true, false})
    EXPECT_EQ(status_of_failure([&] { upload(store, 60, 'y', is_announced); }), 507);
  EXPECT_THAT(store.runs(), ElementsAre(run, going_on));
  EXPECT_EQ(digests(store).size(), 1u);
}

TEST(KeptRuns, FilesAreRemovedUnlessARunHasThem) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {});
  EXPECT_TRUE(store.keep_file(kAbc, body_of("abc")));
  const std::string run = store.new_run("", {{"x", kAbc}});
  ASSERT_EQ(store.files().size(), 1u);
  EXPECT_EQ(store.files()[0].bytes, 3u);
  EXPECT_EQ(store.files()[0].runs, 1u);
  EXPECT_EQ(status_of_failure([&] { store.remove_file(kAbc); }), 409);
  store.remove_run(run);
  EXPECT_EQ(status_of_failure([&] { store.remove_file("../lock"); }), 404);
  store.remove_file(kAbc);
  EXPECT_EQ(status_of_failure([&] { store.remove_file(kAbc); }), 404);
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
  const std::string id = store.new_run("", {});
  std::ofstream(folder.path() / "runs" / "r000003") << "x";
  EXPECT_THAT(store.runs(), ElementsAre(id));
}

TEST(KeptRuns, ASymbolicLinkIsNoArtefact) {
  const testing::TemporaryFolder folder;
  KeptRuns store(folder.path(), {});
  const std::string id = store.new_run("", {});
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
    id = store.new_run("", {});
  }
  KeptRuns store(folder.path(), {});
  EXPECT_THAT(store.runs(), ElementsAre(id));
  EXPECT_NE(store.new_run("", {}), id);
}

}  // namespace
}  // namespace rankwire
