#include "emulator/live/view_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Two run folders, and a file beside them that is nobody's business.
class ViewServerTest : public ::testing::Test {
 protected:
  ViewServerTest() {
    write("one/summary.json",
          R"({"config": {"name": "<b>first</b>"}, "verdict": "ok", "ranks": 8, "ratio": 1.25, "bytes_wire": 2000000,
              "emulated": {"completion_time_ps": 5000000000}, "transport": {"retransmitted": 17, "timeouts": 3}})");
    write("one/report.html", "<p>the report</p>");
    write("one/secret.txt", "secret");
    write("one/capture-2.pcapng", std::string(200'000, 'x'));
    write("two/summary.json", R"({"config": {"name": "second"}, "verdict": "failed"})");
    write("secret.txt", "secret");
    std::filesystem::create_symlink("../secret.txt", folder_ / "one/flows.csv");
    std::filesystem::create_directory(folder_ / "one/ranks.csv");
    server_.emplace("127.0.0.1:0", std::vector{folder_ / "one", folder_ / "two"});
    server_->start();
  }

  void write(const std::string& name, const std::string& content) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }
  /// Status and body of what is below the token.
  std::pair<int, std::string> get(const std::string& path) const { return at(token() + path); }
  std::pair<int, std::string> at(const std::string& path) const {
    const auto answer = httplib::Client(origin()).Get(path);
    return answer ? std::pair(answer->status, answer->body) : std::pair(0, std::string());
  }
  std::string origin() const { return server_->url().substr(0, server_->url().find('/', 7)); }
  std::string token() const { return server_->url().substr(origin().size()); }

  const testing::TemporaryFolder folder_;
  std::optional<ViewServer> server_;
};

TEST_F(ViewServerTest, ShowsRunsBesideEachOther) {
  const auto [status, page] = get("");
  EXPECT_EQ(status, 200);
  EXPECT_THAT(page, HasSubstr("<a href=\"0/report.html\">&lt;b&gt;first&lt;/b&gt;</a>"));
  EXPECT_THAT(page, HasSubstr("<td>ok</td>"));
  EXPECT_THAT(page, HasSubstr(">5 ms</td>")) << "5e9 ps";
  EXPECT_THAT(page, HasSubstr(">1.250</td>"));
  EXPECT_THAT(page, HasSubstr(">17</td>"));
  EXPECT_THAT(page, HasSubstr("second"));
  EXPECT_THAT(page, Not(HasSubstr("1/report.html"))) << "which it lacks";
  EXPECT_THAT(page, Not(HasSubstr("secret")));
}

TEST_F(ViewServerTest, ServesWhatRankwireWrites) {
  EXPECT_EQ(get("0/report.html"), std::pair(200, std::string("<p>the report</p>")));
  EXPECT_EQ(get("0/capture-2.pcapng").second.size(), 200'000u);
  EXPECT_EQ(get("1/summary.json").first, 200);
}

TEST_F(ViewServerTest, ServesNothingElse) {
  for (const char* path :
       {"0", "0/", "0/secret.txt", "0/../secret.txt", "0/..%2fsecret.txt", "0/%2e%2e/secret.txt", "../secret.txt",
        "0//etc/passwd", "//etc/passwd", "0/report.html/", "0/./report.html", "2/report.html", "-1/report.html",
        "00x/report.html", "1/report.html", "0/flows.csv", "0/ranks.csv", "0/report.html%00.txt"})
    EXPECT_EQ(get(path).first, 404) << path;
  EXPECT_EQ(at("/").first, 404);
  EXPECT_EQ(at("/" + std::string(32, '0') + "/").first, 404);
  EXPECT_EQ(at(token().substr(0, token().size() - 1)).first, 404) << "without the slash";
}

// A file that was there when the list was made and is a link now.
TEST_F(ViewServerTest, FollowsNoLinks) {
  std::filesystem::remove(folder_ / "one/report.html");
  std::filesystem::create_symlink("../secret.txt", folder_ / "one/report.html");
  EXPECT_EQ(get("0/report.html").first, 404);
}

TEST_F(ViewServerTest, TakesFinishedRunsAlone) {
  write("three/report.html", "");
  write("four/summary.json", "[");
  EXPECT_THROW(ViewServer("127.0.0.1:0", {folder_ / "three"}), Error);
  EXPECT_THAT([&] { ViewServer("127.0.0.1:0", {folder_ / "four"}); },
              ::testing::ThrowsMessage<Error>(
                  ::testing::HasSubstr("four/summary.json:1: is no summary of a run: it ends too early")));
  EXPECT_THROW(ViewServer("127.0.0.1:0", {folder_ / "none"}), Error);
}

TEST(TypeOfRunFile, KnowsCaptures) {
  for (const char* name : {"capture.pcapng", "capture-twin.pcapng", "capture-12.pcapng"})
    EXPECT_NE(type_of_run_file(name), nullptr) << name;
  for (const char* name : {"capture-.pcapng", "capture-x.pcapng", "capture-1x.pcapng", "capture", "apture.pcapng"})
    EXPECT_EQ(type_of_run_file(name), nullptr) << name;
}

}  // namespace
}  // namespace rankwire
