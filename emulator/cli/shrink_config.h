// The configuration of which `trace shrink` leaves out keys.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emulator/input/tree.h"

namespace rankwire {

class ShrinkConfig {
 public:
  /// The YAML file, or none for "". Throws Error(kInput) when it cannot be read, has `jobs` or generates its traces.
  /// Relative names of files that exist become absolute, so that a copy may lie elsewhere.
  explicit ShrinkConfig(const std::filesystem::path& file);

  bool is_there() const { return root_.kind == Tree::Kind::kMap; }
  /// How many keys may be left out: all that have a value or a list, but for the traces and their groups.
  size_t keys() const { return keys_; }
  /// YAML with those keys that stay, whose traces are those of `prefix`; a line a section.
  std::string text(const std::vector<bool>& stays, const std::string& prefix) const;

 private:
  Tree root_;
  size_t keys_ = 0;
};

}  // namespace rankwire
