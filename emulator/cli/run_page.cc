#include "emulator/cli/run_page.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "emulator/cli/interrupt.h"

namespace rankwire {

RunPage::RunPage(const std::string& listen, const std::string& name) {
  if (listen.empty()) return;
  interrupt_flag();  // so that a signal before the run is none of the default's
  state_.emplace(name);
  server_.emplace(listen, *state_, [] { interrupt("stopped from the live page"); });
}

RunPage::~RunPage() {
  if (server_) server_->finish();
}

void RunPage::start(const std::filesystem::path& folder) {
  if (!server_) return;
  drawn_.emplace();
  const std::filesystem::path page = drawn_->path() / "report.html", whole = std::filesystem::absolute(folder);
  server_->start(ReportDrawing{.command = {std::filesystem::read_symlink("/proc/self/exe").string(), "report",
                                           whole.string(), "--page", page.string()},
                               .page = page,
                               .log = drawn_->path() / "log.txt",
                               .finished = whole / "report.html"});
  log_answer("live page: " + server_->url());
  if (!server_->is_loopback())
    // Beside the address, which --quiet leaves too: who needs the one needs the other.
    log_answer(fmt::format(
        "warning: --live {}: whoever can reach this address and sees what is sent there can read and stop the run: "
        "nothing is encrypted",
        server_->origin()));
}

std::shared_ptr<void> RunPage::watch(const WatchedRun& run) {
  return state_ ? state_->watch({run.label, run.operations, run.done, run.share}) : nullptr;
}

std::function<void(std::shared_ptr<LiveFeed>)> RunPage::look_on() {
  if (!state_) return nullptr;
  return [this](std::shared_ptr<LiveFeed> feed) { state_->begin(std::move(feed)); };
}

void RunPage::end(LiveEnd end) {
  if (state_ && !state_->has_ended()) state_->end(std::move(end));
}

}  // namespace rankwire
