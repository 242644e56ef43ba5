#include "emulator/live/view_server.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <utility>

#include "emulator/live/http_server.h"
#include "emulator/live/view_index.h"

namespace rankwire {
namespace {

constexpr const char* kPage = "text/html; charset=utf-8";
constexpr size_t kPart = 64 << 10;

/// "capture.pcapng", "capture-twin.pcapng", "capture-2.pcapng".
bool is_capture(std::string_view name) {
  constexpr std::string_view kBegin = "capture", kEnd = ".pcapng";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < kBegin.size() + kEnd.size()) return false;
  std::string_view middle = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  if (middle.empty() || middle == "-twin") return true;
  if (!middle.starts_with('-') || middle.size() == 1) return false;
  return std::ranges::all_of(middle.substr(1), [](unsigned char c) { return std::isdigit(c) != 0; });
}

void not_here(httplib::Response& response) {
  response.status = 404;
  response.set_content("there is no such page\n", "text/plain");
}

}  // namespace

const char* type_of_run_file(std::string_view name) {
  static constexpr std::array<std::string_view, 25> kTables = {
      "operations.csv", "flows.csv",           "ranks.csv",        "ports.csv",       "latency.csv",
      "losses.csv",     "traffic.csv",         "hardware.csv",     "impairments.csv", "queues.csv",
      "jobs.csv",       "shared.csv",          "shared_ports.csv", "background.csv",  "critical_path.csv",
      "slack.csv",      "slow_operations.csv", "sweep.csv",        "study.csv",       "interference.csv",
      "requests.csv",   "collective.csv",      "port_rates.csv",   "allowances.csv",  "device_counters.csv"};
  if (name == "report.html") return kPage;
  if (name == "summary.json" || name == "timeline.json" || name == "stalls.json") return "application/json";
  if (name == "report.md") return "text/plain; charset=utf-8";
  if (name == "run.sqlite") return "application/vnd.sqlite3";
  if (std::ranges::find(kTables, name) != kTables.end()) return "text/csv; charset=utf-8";
  return is_capture(name) ? "application/octet-stream" : nullptr;
}

class ViewServer::Site {
 public:
  Site(std::string_view listen, const std::vector<std::filesystem::path>& folders)
      : token_(random_token()), server_(parse_listen(listen, "--listen")) {
    for (const std::filesystem::path& folder : folders) runs_.push_back(viewed_run(folder));
    server_.get_below("/", [this](const httplib::Request& request, httplib::Response& response) {
      std::string_view path = request.path;
      path.remove_prefix(1);
      const size_t end = std::min(path.find('/'), path.size());
      if (!equal_secrets(path.substr(0, end), token_) || end == path.size()) return not_here(response);
      send(path.substr(end + 1), response);
    });
  }

  HttpServer& server() { return server_; }
  const HttpServer& server() const { return server_; }
  std::string url() const { return server_.origin() + "/" + token_ + "/"; }

 private:
  /// The index, or "PLACE/FILE".
  void send(std::string_view path, httplib::Response& response) const {
    if (path.empty()) {
      const std::string nonce = random_token();
      protect_page(response, nonce);
      return response.set_content(view_index(runs_, nonce), kPage);
    }
    const size_t slash = std::min(path.find('/'), path.size());
    size_t place = runs_.size();
    const auto [end, error] = std::from_chars(path.data(), path.data() + slash, place);
    if (error != std::errc() || end != path.data() + slash || place >= runs_.size() || slash == path.size())
      return not_here(response);
    const auto& files = runs_[place].files;
    const auto file = std::ranges::find(files, path.substr(slash + 1));
    if (file == files.end()) return not_here(response);
    send_file(runs_[place].folder / *file, type_of_run_file(*file), response);
  }

  static void send_file(const std::filesystem::path& file, const char* type, httplib::Response& response) {
    // The list was made of files: what took the place of one is not followed, and not waited for.
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat found {};
    if (descriptor < 0 || fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
      if (descriptor >= 0) ::close(descriptor);
      return not_here(response);
    }
    protect_page(response, "");
    response.set_content_provider(
        static_cast<size_t>(found.st_size), type,
        [descriptor](size_t offset, size_t length, httplib::DataSink& sink) {
          std::array<char, kPart> part;
          const ssize_t n = ::pread(descriptor, part.data(), std::min(length, part.size()), static_cast<off_t>(offset));
          return n > 0 && sink.write(part.data(), static_cast<size_t>(n));
        },
        [descriptor](bool) { ::close(descriptor); });
  }

  const std::string token_;
  std::vector<ViewedRun> runs_;
  HttpServer server_;  // last: its threads use all of the above
};

ViewServer::ViewServer(std::string_view listen, const std::vector<std::filesystem::path>& folders)
    : site_(std::make_unique<Site>(listen, folders)) {}

ViewServer::~ViewServer() = default;

void ViewServer::start() {
  site_->server().start();
}

std::string ViewServer::url() const {
  return site_->url();
}

bool ViewServer::is_loopback() const {
  return site_->server().address().is_loopback();
}

}  // namespace rankwire
