#include "emulator/live/live_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LiveServerTest : public ::testing::Test {
 protected:
  LiveServerTest() { server_.start(); }

  httplib::Client client() const {
    httplib::Client client(server_.origin());
    client.set_read_timeout(10);
    return client;
  }
  std::string with_token(const std::string& path) const { return path + "?token=" + server_.token(); }
  httplib::Headers bearer() const { return {{"Authorization", "Bearer " + server_.token()}}; }

  std::shared_ptr<LiveFeed> feed_ = std::make_shared<LiveFeed>("emulated", std::vector<std::string>{"p0"},
                                                               std::vector<LiveFeed::Job>{{"<script>", 2}}, 10, 1);
  LiveState state_{"a \"run\" of <b>"};
  std::atomic<int> stopped_{0};
  LiveServer server_{"127.0.0.1:0", state_, [this] { ++stopped_; }};
};

TEST_F(LiveServerTest, AnswersWhoHasTheToken) {
  for (const char* path : {"/", "/metrics", "/events"}) {
    EXPECT_EQ(client().Get(path)->status, 403) << path;
    EXPECT_EQ(client().Get(std::string(path) + "?token=" + std::string(32, '0'))->status, 403) << path;
    EXPECT_EQ(client().Get(std::string(path) + "?token=")->status, 403) << path;
  }
  EXPECT_EQ(client().Get("/elsewhere")->status, 404);
  EXPECT_EQ(client().Get(with_token("/"))->status, 200);
  EXPECT_EQ(client().Get(with_token("/metrics"))->status, 200);
  EXPECT_EQ(client().Get("/metrics", bearer())->status, 200);
}

TEST_F(LiveServerTest, ThePageLoadsNothingFromElsewhere) {
  const auto page = client().Get(with_token("/"));
  const std::string policy = page->get_header_value("Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  const size_t nonce = policy.find("'nonce-") + 7;
  EXPECT_THAT(page->body, HasSubstr("nonce=\"" + policy.substr(nonce, 32) + "\""));
  EXPECT_THAT(page->body, Not(HasSubstr("://"))) << "no address of anybody";
  EXPECT_NE(client().Get(with_token("/"))->get_header_value("Content-Security-Policy"), policy) << "another nonce";
}

/// A server whose reports the shell draws: the first says its number, others fail.
class LiveReportTest : public LiveServerTest {
 protected:
  LiveReportTest() {
    const std::filesystem::path folder = folder_.path();
    const std::string script = "n=$(cat " + (folder / "count").string() + " 2>&- || echo 0); echo $((n + 1)) > " +
                               (folder / "count").string() + "; test $n = 0 || { echo error: no more; exit 2; }; " +
                               "printf 'page %s' $(nice) > " + (folder / "page").string();
    drawn_.start(ReportDrawing{.command = {"sh", "-c", script},
                               .page = folder / "page",
                               .log = folder / "log",
                               .finished = folder / "report.html"});
  }
  httplib::Result report() const {
    httplib::Client client(drawn_.origin());
    client.set_read_timeout(10);
    return client.Get("/report?token=" + drawn_.token());
  }

  testing::TemporaryFolder folder_;
  LiveServer drawn_{"127.0.0.1:0", state_, [] {}};
};

TEST_F(LiveReportTest, IsDrawnByAnotherProcessThatHasTheLowestPriority) {
  EXPECT_EQ(httplib::Client(drawn_.origin()).Get("/report")->status, 403);
  const auto page = report();
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->body, "page 19");
  EXPECT_THAT(page->get_header_value("Content-Type"), HasSubstr("text/html"));
  const std::string policy = page->get_header_value("Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("connect-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'self'"));
  // Nobody draws twice in ReportDrawer::kBetween, which would have failed here.
  EXPECT_EQ(report()->body, "page 19");
}

TEST_F(LiveReportTest, IsTheRunsOwnOnceItHasEnded) {
  std::ofstream(folder_.path() / "report.html") << "the whole";
  state_.end({"ok", "", folder_.path().string()});
  EXPECT_EQ(report()->body, "the whole");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "count")) << "nothing is drawn any more";
  drawn_.finish();
}

TEST_F(LiveReportTest, TellsWhyThereIsNone) {
  std::ofstream(folder_.path() / "count") << 1;
  const auto page = report();
  EXPECT_EQ(page->status, 200);
  EXPECT_THAT(page->get_header_value("Content-Type"), HasSubstr("text/plain"));
  EXPECT_EQ(page->body, "there is no report yet: no more\n");
  EXPECT_EQ(client().Get(with_token("/report"))->body, "there is no report yet: none is drawn of this run\n");
}

// By the header alone, so that no link has it.
TEST_F(LiveServerTest, StopsForWhoHasTheToken) {
  EXPECT_EQ(client().Get(with_token("/stop"))->status, 404);
  EXPECT_EQ(client().Post(with_token("/stop"))->status, 403);
  EXPECT_EQ(client().Post("/stop", {{"Authorization", "Bearer x"}}, "", "text/plain")->status, 403);
  httplib::Headers of_another_page = bearer();
  of_another_page.emplace("Origin", "http://elsewhere.example");
  EXPECT_EQ(client().Post("/stop", of_another_page, "", "text/plain")->status, 403);
  EXPECT_EQ(stopped_, 0);
  EXPECT_EQ(client().Post("/stop", bearer(), "", "text/plain")->status, 204);
  EXPECT_EQ(stopped_, 1);
  EXPECT_EQ(state_.json()["state"], "stopping");
}

TEST_F(LiveServerTest, TellsOfTheRunUntilItHasEnded) {
  state_.begin(feed_);
  const std::shared_ptr<void> watched = state_.watch({"emulated", 10, [] { return 4; }, [] { return 0.25; }});
  const std::shared_ptr<void> unpredicted = state_.watch({"flow", 20, [] { return 5; }});
  LiveFigures figures{.now = Time() + seconds(3), .jobs = {{500, 1}}, .ports = {{1, 2, 3, 4}}};
  figures[LiveCount::kOperations] = 4;
  std::vector<uint64_t> words(feed_->words());
  feed_->pack(figures, words);
  feed_->snapshot(0).publish(words);
  std::vector<nlohmann::json> told;
  std::string rest;
  const auto answer = client().Get(with_token("/events"), [&](const char* data, size_t size) {
    rest.append(data, size);
    for (size_t end = 0; (end = rest.find("\n\n")) != std::string::npos; rest.erase(0, end + 2))
      told.push_back(nlohmann::json::parse(rest.substr(std::string_view("data: ").size(), end - 6)));
    if (told.size() == 2) state_.end({"ok", "", "/runs/<one>"});
    return true;
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/event-stream");
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0]["name"], "a \"run\" of <b>");
  EXPECT_EQ(told[0]["state"], "running");
  EXPECT_EQ(told[0]["progress"][0]["done"], 4);
  EXPECT_EQ(told[0]["progress"][0]["share"], 0.25);
  EXPECT_TRUE(told[0]["progress"][1]["share"].is_null());
  EXPECT_EQ(told[0]["run"]["time_s"], 3.0);
  EXPECT_EQ(told[0]["run"]["operations"], 4);
  EXPECT_EQ(told[0]["run"]["jobs"][0]["name"], "<script>");
  EXPECT_EQ(told[0]["run"]["jobs"][0]["bytes"], 500);
  EXPECT_EQ(told[0]["run"]["ports"][0]["rx_bytes"], 4);
  EXPECT_EQ(told[2]["state"], "ended");
  EXPECT_EQ(told[2]["ended"]["folder"], "/runs/<one>");
}

TEST_F(LiveServerTest, AsksWhoWaitsForWhomOnlyForWhoLooksOn) {
  state_.begin(feed_);
  client().Get(with_token("/metrics"));
  EXPECT_EQ(feed_->waits.asked(), 0u);
  int events = 0;
  client().Get(with_token("/events"), [&](const char*, size_t) { return ++events < 2; });
  EXPECT_EQ(feed_->waits.asked(), 1u) << "once a second at most, and events are half a second apart";
}

TEST_F(LiveServerTest, HasRoomForSomeViewers) {
  std::atomic<int> looking{0};
  std::atomic<bool> go_on{true};
  std::vector<std::thread> viewers;
  for (int i = 0; i < LiveServer::kMostViewers; ++i) {
    viewers.emplace_back([&] {
      bool first = true;
      client().Get(with_token("/events"), [&](const char*, size_t) {
        if (std::exchange(first, false)) ++looking;
        return go_on.load();
      });
    });
  }
  while (looking < LiveServer::kMostViewers) std::this_thread::yield();
  EXPECT_EQ(client().Get(with_token("/events"))->status, 503);
  EXPECT_EQ(client().Get(with_token("/metrics"))->status, 200) << "those who ask and go have room of their own";
  go_on = false;
  for (std::thread& viewer : viewers) viewer.join();
}

// Whoever listens is told how it ended, and then the server is gone.
TEST_F(LiveServerTest, SaysHowItEndedBeforeItGoes) {
  std::string heard;
  std::atomic<bool> listens{false};
  std::thread viewer([&] {
    client().Get(with_token("/events"), [&](const char* data, size_t size) {
      heard.append(data, size);
      listens = true;
      return true;
    });
  });
  while (!listens) std::this_thread::yield();
  state_.end({"interrupted", "stopped by a signal", ""});
  server_.finish();
  viewer.join();
  EXPECT_THAT(heard, HasSubstr("\"verdict\":\"interrupted\""));
  EXPECT_FALSE(client().Get(with_token("/metrics")));
}

}  // namespace
}  // namespace rankwire
