// Oddities of traces that do not stop a run: counted while the ranks are read, told once at the end.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "emulator/workload/workload.h"

namespace rankwire {

/// `file: node 12 "name"`, the beginning of every message about a node.
inline std::string place(const std::string& file, const Node& node) {
  return fmt::format("{}: node {} \"{}\"", file, node.id, node.name);
}

/// How often something was met, and where first.
class Occurrences {
 public:
  void add(const std::string& file, const Node& node) {
    if (count_++ == 0) first_ = place(file, node);
  }
  /// Adds `count` > 0 of them, at the first of which `first` is the place.
  void add(uint64_t count, const std::string& first) {
    if (count_ == 0) first_ = first;
    count_ += count;
  }
  /// Appends "<count> <what> (first: <place>)" unless there was none.
  void report(Warnings& warnings, const char* what) const {
    if (count_ != 0) warnings.push_back(fmt::format("{} {} (first: {})", count_, what, first_));
  }

 private:
  uint64_t count_ = 0;
  std::string first_;
};

struct Tolerated {
  Occurrences cpu_duplicates;     ///< communication on the CPU without type and size: the accelerator's node has them
  Occurrences unknown_types;      ///< node types that the schema does not have
  Occurrences self_dependencies;  ///< a node that depends on itself
  Occurrences missing_controls;   ///< a control dependency on a node that its file does not have

  void report(Warnings& warnings) const {
    cpu_duplicates.report(warnings, "communication nodes on the CPU were taken for duplicates of the accelerator's");
    unknown_types.report(warnings, "nodes of unknown type take no time");
    self_dependencies.report(warnings, "dependencies of a node on itself were dropped");
    missing_controls.report(warnings, "control dependencies on nodes that are not in their file were dropped");
  }
};

}  // namespace rankwire
