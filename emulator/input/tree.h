// A YAML document as a tree that knows where each of its values was written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace rankwire {

/// Where a value was written, and what a relative path in it is relative to.
struct Origin {
  std::string place;             ///< "FILE:LINE", or "--set KEY=VALUE"
  std::filesystem::path folder;  ///< of the file; the working directory for a setting
};

struct Tree {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  Origin origin;
  std::string text;            ///< kScalar
  std::vector<Tree> items;     ///< kList
  std::vector<Entry> entries;  ///< kMap, in file order; keys are unique

  Tree* find(std::string_view key);
  const Tree* find(std::string_view key) const;
  void erase(std::string_view key);
};

struct Tree::Entry {
  std::string key;
  Origin origin;  ///< of the key
  Tree value;
};

/// Fails at `origin` with "PLACE: text".
template <class... Args>
[[noreturn]] void fail_at(const Origin& origin, fmt::format_string<Args...> format, Args&&... args) {
  fail_input("{}: {}", origin.place, fmt::format(format, std::forward<Args>(args)...));
}

/// Reads a file of one YAML document, which must be a map. Throws Error(kInput) for an unreadable file, wrong YAML, a
/// key written twice, nesting deeper than any configuration has and aliases that stand for more than memory is for.
Tree read_yaml_file(const std::filesystem::path& file);
/// Reads a YAML value; every node gets `origin`.
Tree read_yaml_text(const std::string& text, const Origin& origin);

/// Applies "dotted.key[index].key=value" to the map `root`; the value is YAML. Keys that are absent are added, an index
/// must exist, and the value `null` removes the key so that its default holds.
void apply_setting(Tree& root, std::string_view setting);

/// YAML in one line that reads as the same tree.
std::string flow_text(const Tree& tree);

/// The node at "dotted.key[index]", or its nearest ancestor that exists: where to send a person who looks for the key.
const Tree& nearest(const Tree& root, std::string_view path);

/// Fails with "PLACE: PATH: text", the place being that of the nearest node to `path`.
template <class... Args>
[[noreturn]] void fail_key(const Tree& root, const std::string& path, fmt::format_string<Args...> format,
                           Args&&... args) {
  fail_at(nearest(root, path).origin, "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rankwire
