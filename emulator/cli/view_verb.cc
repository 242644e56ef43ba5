#include "emulator/cli/view_verb.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.h"
#include "emulator/cli/interrupt.h"
#include "emulator/live/view_server.h"

namespace rankwire {

int view_runs(const ViewRequest& request) {
  const std::atomic<bool>& interrupted = interrupt_flag();
  ViewServer server(request.listen, request.runs);
  server.start();
  if (!server.is_loopback())
    log_warning(fmt::format(
        "--listen {}: whoever can reach this address and sees what is sent there can read the runs: nothing is "
        "encrypted",
        request.listen));
  if (request.form == OutputForm::kJson) {
    fmt::print("{}\n", nlohmann::ordered_json{{"url", server.url()}}.dump());
  } else {
    fmt::print("{}\n", server.url());
  }
  std::fflush(stdout);
  while (!interrupted) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return 0;
}

void add_view_verb(CLI::App& app, ViewRequest& request, int& status) {
  CLI::App& verb = *app.add_subcommand("view", "serve the reports of finished runs to a browser, until interrupted");
  verb.add_option("RUN", request.runs, "run folders")->required();
  verb.add_option("--listen", request.listen, "ADDRESS:PORT; port 0: any that is free")->capture_default_str();
  verb.add_flag_callback(
      "--json", [&request] { request.form = OutputForm::kJson; }, "print the address as JSON");
  verb.footer("Example: rankwire view runs/first runs/second");
  verb.callback([&request, &status] { status = view_runs(request); });
}

}  // namespace rankwire
