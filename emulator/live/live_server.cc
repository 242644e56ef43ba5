#include "emulator/live/live_server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <utility>

#include "emulator/live/http_server.h"
#include "emulator/live/live_metrics.h"
#include "emulator/live/live_page.h"

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kBetweenEvents{500}, kToSayGoodbye{1000}, kToTakeReport{3000};
constexpr std::string_view kBearer = "Bearer ";
constexpr size_t kReportPart = 64 << 10;

std::string bearer_of(const httplib::Request& request) {
  const std::string value = request.get_header_value("Authorization");
  return value.starts_with(kBearer) ? value.substr(kBearer.size()) : std::string();
}

void deny(httplib::Response& response) {
  response.status = 403;
  response.set_content("the token is missing or wrong: it is in the address that was printed\n", "text/plain");
}

}  // namespace

class LiveServer::Site {
 public:
  Site(std::string_view listen, LiveState& state, std::function<void()> stop)
      : state_(state), stop_(std::move(stop)), token_(random_token()), server_(parse_listen(listen, "--live")) {
    server_.get("/", guarded([this](const auto&, httplib::Response& response) { send_page(response); }));
    server_.get("/events", guarded([this](const httplib::Request& request, httplib::Response& response) {
                  send_events(request.has_param("page"), response);
                }));
    server_.get("/report", guarded([this](const auto&, httplib::Response& response) { send_report(response); }));
    server_.get("/metrics", guarded([this](const auto&, httplib::Response& response) {
                  response.set_content(metrics_text(state_), kMetricsType);
                }));
    // By header alone: no link and no form of another page can have it.
    server_.post("/stop", [this](const httplib::Request& request, httplib::Response& response) {
      if (!equal_secrets(bearer_of(request), token_)) return deny(response);
      state_.stopping();
      stop_();
      response.status = 204;
    });
  }

  /// Nobody waits for a report when the server ends.
  ~Site() {
    if (drawer_) drawer_->stop();
  }

  void start(std::optional<ReportDrawing> drawing) {
    if (drawing) drawer_.emplace(std::move(*drawing));
    server_.start();
  }

  void finish() {
    if (drawer_) drawer_->stop();
    std::unique_lock lock(mutex_);
    gone_.wait_for(lock, kToSayGoodbye, [this] { return viewers_ == 0; });
    gone_.wait_for(lock, kToTakeReport, [this] { return to_have_report_ <= 0; });
    lock.unlock();
    server_.stop();
  }

  const HttpServer& server() const { return server_; }
  const std::string& token() const { return token_; }

 private:
  HttpServer::Handler guarded(HttpServer::Handler handler) {
    return [this, handler = std::move(handler)](const httplib::Request& request, httplib::Response& response) {
      const std::string given = request.has_param("token") ? request.get_param_value("token") : bearer_of(request);
      if (!equal_secrets(given, token_)) return deny(response);
      handler(request, response);
    };
  }

  void send_page(httplib::Response& response) {
    const std::string nonce = random_token();
    protect_page(response, nonce, PageFrames::kHas);
    response.set_content(live_page(nonce), "text/html; charset=utf-8");
  }

  void send_text(httplib::Response& response, const std::string& why) {
    response.set_content("there is no report yet: " + why + "\n", "text/plain; charset=utf-8");
  }

  void send_report(httplib::Response& response) {
    protect_page(response, "", PageFrames::kWithin);
    if (!drawer_) return send_text(response, "none is drawn of this run");
    if (state_.has_ended()) {
      send_whole(response, report_file(drawer_->drawing().finished));
      return;
    }
    const ReportDrawer::Drawn drawn = drawer_->draw();
    // It may have ended meanwhile.
    if (state_.has_ended()) return send_whole(response, report_file(drawer_->drawing().finished));
    if (drawn.page == nullptr) return send_text(response, drawn.trouble);
    send_whole(response, drawn.page);
  }

  static std::shared_ptr<const std::string> report_file(const std::filesystem::path& file) {
    std::ifstream report(file, std::ios::binary);
    if (!report) return nullptr;
    return std::make_shared<const std::string>(std::istreambuf_iterator<char>(report),
                                               std::istreambuf_iterator<char>());
  }

  /// Pages are told that it has ended, ask for the last report, and have it before the server goes.
  void send_whole(httplib::Response& response, std::shared_ptr<const std::string> page) {
    if (page == nullptr) return send_text(response, "the run has written none");
    const bool is_last = state_.has_ended();
    response.set_content_provider(
        page->size(), "text/html; charset=utf-8",
        [page](size_t offset, size_t length, httplib::DataSink& sink) {
          return sink.write(page->data() + offset, std::min(length, kReportPart));
        },
        [this, is_last](bool) {
          if (!is_last) return;
          {
            const std::lock_guard lock(mutex_);
            --to_have_report_;
          }
          gone_.notify_all();
        });
  }

  void send_events(bool of_page, httplib::Response& response) {
    {
      const std::lock_guard lock(mutex_);
      if (viewers_ >= kMostViewers) {
        response.status = 503;
        response.set_header("Retry-After", "5");
        response.set_content("too many pages look on\n", "text/plain");
        return;
      }
      ++viewers_;
    }
    auto is_first = std::make_shared<bool>(true);
    response.set_chunked_content_provider(
        "text/event-stream",
        [this, is_first, of_page](size_t, httplib::DataSink& sink) {
          const bool ended =
              state_.wait(std::exchange(*is_first, false) ? std::chrono::milliseconds(0) : kBetweenEvents);
          if (server_.is_stopping()) return false;
          const nlohmann::ordered_json state = state_.json();
          const std::string text =
              "data: " + state.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n\n";
          if (!sink.write(text.data(), text.size())) return false;
          if (ended) {
            // It will come for the report, where there is one.
            if (of_page && drawer_ && state.at("ended").at("folder") != "") {
              const std::lock_guard lock(mutex_);
              ++to_have_report_;
            }
            sink.done();
          }
          return true;
        },
        [this](bool) {
          {
            const std::lock_guard lock(mutex_);
            --viewers_;
          }
          gone_.notify_all();
        });
  }

  LiveState& state_;
  const std::function<void()> stop_;
  const std::string token_;
  std::mutex mutex_;
  std::condition_variable gone_;
  int viewers_ = 0, to_have_report_ = 0;
  std::optional<ReportDrawer> drawer_;
  HttpServer server_;  // last: its threads use all of the above
};

LiveServer::LiveServer(std::string_view listen, LiveState& state, std::function<void()> stop)
    : site_(std::make_unique<Site>(listen, state, std::move(stop))) {}

LiveServer::~LiveServer() = default;

void LiveServer::start(std::optional<ReportDrawing> drawing) {
  site_->start(std::move(drawing));
}

void LiveServer::finish() {
  site_->finish();
}

std::string LiveServer::url() const {
  return origin() + "/?token=" + token();
}

std::string LiveServer::origin() const {
  return site_->server().origin();
}

const std::string& LiveServer::token() const {
  return site_->token();
}

bool LiveServer::is_loopback() const {
  return site_->server().address().is_loopback();
}

}  // namespace rankwire
