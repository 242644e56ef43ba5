// Which traces belong together: from files, folders and prefixes to sets of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rankwire {

struct TraceFile {
  uint32_t rank = 0;
  std::string path;
};

/// The traces of one run, as far as they are there.
struct TraceFileSet {
  std::string name;                     ///< the path without rank and ending, or of the only file
  std::string folder;                   ///< of the files below what was asked for, "" where they lie in it itself
  std::vector<TraceFile> files;         ///< by rank
  std::vector<TraceFile> doubles;       ///< further files of a rank
  std::vector<uint32_t> ranks_on_disk;  ///< ascending; more than `files` has when single files were asked for
  std::string groups;                   ///< the process-group file, or ""

  /// All ranks that are on disk have been asked for.
  bool whole() const { return files.size() == ranks_on_disk.size(); }
};

/// `inputs` are files, folders, which are searched with what is below them, and prefixes P for P.<rank>.et and so on.
/// In folders, only files count that end in .et or .eg, perhaps with .gz or .zst behind it, or are numbered JSON that
/// can be read. Sets are sorted by name. `groups` is the process-group file of all sets; where it is empty, NAME.json
/// counts if it is one. Throws Error(kInput) when there is nothing of that name, or a folder holds no trace.
std::vector<TraceFileSet> find_trace_sets(const std::vector<std::string>& inputs, const std::string& groups);

}  // namespace rankwire
