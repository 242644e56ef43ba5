#include "emulator/bmwg/cable_puller.h"

#include <exception>
#include <utility>

#include "base/error.h"
#include "emulator/record/reader.h"

namespace rankwire {
namespace {

// How often the record is looked at, which takes the longer the more is in it.
constexpr std::chrono::milliseconds kLook{200};
// A record is committed each 200 ms (RecorderOptions::commit_interval); its disk may take a while.
constexpr std::chrono::milliseconds kRecordDelay{400};

}  // namespace

uint64_t ended_operations(const std::filesystem::path& folder) {
  uint64_t count = 0;
  try {
    RunReader(folder).for_each_operation([&](const OperationRow& row) { count += row.emulated ? 1 : 0; });
  } catch (const Error&) {  // that there is none, or not whole
    return 0;
  }
  return count;
}

CablePuller::CablePuller(const BmwgBench& bench, std::filesystem::path folder, uint64_t operations)
    : thread_([&bench, folder = std::move(folder), operations, this] { watch(bench, folder, operations); }) {}

CablePuller::~CablePuller() {
  run_has_ended_ = true;
  if (thread_.joinable()) thread_.join();
}

CablePull CablePuller::finish() {
  run_has_ended_ = true;
  thread_.join();
  return std::move(pull_);
}

void CablePuller::watch(const BmwgBench& bench, const std::filesystem::path& folder, uint64_t operations) {
  while (ended_operations(folder) < operations) {
    if (run_has_ended_) return;
    std::this_thread::sleep_for(kLook);
  }
  // The run may have come to its end meanwhile, and a cable is not pulled for nothing.
  if (run_has_ended_) return;
  const auto began = std::chrono::steady_clock::now();
  try {
    bench.hook("link_down");
  } catch (const std::exception& error) {
    pull_.error = error.what();
  }
  std::this_thread::sleep_for(kRecordDelay);
  pull_.is_done = true;
  pull_.ends_before = ended_operations(folder);
  pull_.took = std::chrono::steady_clock::now() - began;
}

}  // namespace rankwire
