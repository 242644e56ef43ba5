// Copies of traces without what would tell whose they are.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "emulator/traces/coarse_amounts.h"
#include "emulator/traces/exposure.h"
#include "emulator/traces/trace_sets.h"

namespace rankwire {

struct ObfuscateOptions {
  std::string key;  ///< of pseudonyms and the secret factor; "": a random one
  Coarseness sizes = Coarseness::kKeep;
  Coarseness times = Coarseness::kKeep;  ///< not kShifted
  std::set<std::string> allowed;         ///< attributes that come along as they are, beside those that are known
  std::string prefix;                    ///< of the copies
  std::string mapping;                   ///< file for what stands for what, or ""
};

struct ObfuscatedSet {
  uint64_t nodes = 0;
  size_t groups = 0;
  std::map<std::string, uint64_t> dropped;  ///< attributes by name: of how many nodes
  Exposure exposure;                        ///< what is in the copy
};

/// Writes PREFIX.<rank>.et and, where the set has a process-group file, PREFIX.json. Every node is built anew from what
/// is known to be harmless:
///
/// * names become pseudonyms, the same on all ranks; groups but "" and "0" become numbers, tags and node ids, streams
/// and
///   threads of a file small ones, all in the order of the originals, since ties are broken by it;
/// * inputs and outputs, metadata of files and all unknown attributes are left out. Of METADATA nodes process groups
///   stay, of compute nodes the data type;
/// * start times count from the first of the set and stay with Coarseness::kKeep alone.
///
/// Ranks, types of nodes, dependencies, peers and roots stay. The files are read three times, node by node; memory: 16
/// bytes a node of the largest file. `done` counts files, twice each. Throws Error(kInput) when a file cannot be read
/// to its end, or a copy or the mapping exists, Error(kRun) when something cannot be written.
ObfuscatedSet obfuscate(const TraceFileSet& files, const ObfuscateOptions& options, std::atomic<uint64_t>& done);

}  // namespace rankwire
