// The index of finished runs.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// A finished run that is served.
struct ViewedRun {
  std::filesystem::path folder;
  nlohmann::json summary;          ///< its summary.json
  std::vector<std::string> files;  ///< that are served
};

/// Reads a run folder. Throws Error(kInput) when it holds no run that has ended.
ViewedRun viewed_run(const std::filesystem::path& folder);

/// A whole page: a row for each run, whose files are linked below its place in `runs`, from 0. Its style carries
/// `nonce`. What a summary lacks is "-".
std::string view_index(std::span<const ViewedRun> runs, std::string_view nonce);

}  // namespace rankwire
