// The page of a run as it goes on, where one was asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "emulator/assembly/run_control.h"
#include "emulator/cli/scratch_folder.h"
#include "emulator/live/live_server.h"
#include "emulator/live/live_state.h"

namespace rankwire {

/// Does nothing when nobody asked for a page.
class RunPage {
 public:
  /// Binds `listen`, empty: nobody asked. Throws Error(kInput).
  RunPage(const std::string& listen, const std::string& name);
  ~RunPage();

  /// Serves it, and says where. `folder`: of the run.
  void start(const std::filesystem::path& folder);
  /// As RunControl has them.
  std::shared_ptr<void> watch(const WatchedRun& run);
  std::function<void(std::shared_ptr<LiveFeed>)> look_on();
  /// The first of several counts.
  void end(LiveEnd end);

 private:
  std::optional<ScratchFolder> drawn_;
  std::optional<LiveState> state_;
  std::optional<LiveServer> server_;
};

}  // namespace rankwire
