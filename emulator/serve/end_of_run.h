// How a run ended, as its server knows it, which the next server is to know, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace rankwire {

/// Its name in the folder of a run.
inline constexpr const char* kEndOfRunFile = "end.json";

struct EndOfRun {
  std::optional<int> exit_status;  ///< of its process, 128 + n if signal n ended it; absent: it had none
  std::string last_words;          ///< of a process that failed: the last line that it wrote
  std::string reason;              ///< why the server had it end, or let it not begin; empty: it did not
};

/// Best effort: where it cannot be written whole, what was there stays, and the next server does not know.
void write_end_of_run(const std::filesystem::path& folder, const EndOfRun& end);
/// Nothing is known where there is none.
EndOfRun read_end_of_run(const std::filesystem::path& folder);

}  // namespace rankwire
