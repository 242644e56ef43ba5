#include "emulator/serve/otg_service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "emulator/serve/serve_error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

// Its answer is the same whether the program has ended by the time that it is looked at or not.
TEST(OtgService, AStartThatSomebodyElseStopsIsRefused) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path program = folder.path() / "program";
  // Passes every configuration, and never begins.
  std::ofstream(program) << "#!/bin/sh\n[ $1 = check ] || exec sleep 60\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  KeptRuns store(folder.path() / "root", {});
  RunQueue queue(program, store, 16, 1);
  OtgService service(store, queue, {}, std::chrono::seconds(1));
  service.set_config({{"ai_workload", {{"configuration", "ports: {count: 2}"}}}});
  std::future<std::string> answer = std::async(std::launch::async, [&] {
    try {
      service.set_control_state(Json::parse(
          R"({"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}})"));
    } catch (const ServeError& error) {
      return std::to_string(error.status()) + " " + error.what();
    }
    return std::string("200");
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while ((queue.all().empty() || queue.all()[0].state != RunState::kStarting) &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  queue.stop("r000001");
  EXPECT_EQ(answer.get(), "409 run r000001: stopped before it began");
}

}  // namespace
}  // namespace rankwire
