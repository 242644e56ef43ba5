// What a check has found, put right in a copy where the right thing is known.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/traces/check.h"

namespace rankwire {

/// Changes of one kind in one file.
struct RepairChange {
  Finding finding;   ///< what was wrong; `what` is the first occurrence
  std::string done;  ///< what was done about it
};

/// What is done only where it is asked for, since no trace can say whether it is right.
struct RepairOptions {
  enum class Unmatched : uint8_t {
    kKeep,
    kDrop,      ///< SEND and RECV without counterpart become nodes that do nothing
    kComplete,  ///< the peer, where it has a trace, gets the other end
  };
  Unmatched unmatched = Unmatched::kKeep;
  /// Operations with an absurd size become nodes that do nothing, and with them the other end of a message, and the
  /// call of every member of a collective. Nodes with an absurd duration take no time.
  bool drop_absurd = false;
};

/// Writes a copy of the set below `folder`: NAME.<rank>.et for each file that can be read at all, and NAME.json where
/// there is a process-group file. Returns what was changed and why. With an element size of more than one byte, sizes
/// become bytes. Put right are: nodes behind a place that cannot be read (left out), equal nodes with one id (dropped;
/// others get a new id), dependencies that dangle, repeat, or lead to the node itself (dropped), cycles (the dependency
/// that reaches furthest ahead in the file is dropped), the order of kernels, double-counted host operations, sizes in
/// elements, repeated tags, clocks that contradict each other, and what `further` asks for. Throws as `copy_trace`.
std::vector<RepairChange> repair_set(const CheckedSet& checked, const CheckOptions& options,
                                     const std::filesystem::path& folder, const RepairOptions& further = {});

/// A list of {"code", "file", "rank", "nodes", "count", "what", "done"}.
nlohmann::ordered_json to_json(const std::vector<RepairChange>& changes);
std::string to_text(const std::vector<RepairChange>& changes);

}  // namespace rankwire
