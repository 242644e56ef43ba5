// Reads the keys of schema.h from a tree.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/input/nearest_key.h"
#include "emulator/input/syntax.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// Visits one map. Values of absent keys stay as they are. Throws Error(kInput) for a value that its syntax refuses;
/// `finish` does for keys that nobody visited.
class Reader {
  template <class Syntax>
  static auto parse(const Tree& node, const std::string& path, const Syntax& syntax) {
    if (node.kind == Tree::Kind::kNull) fail_at(node.origin, "{}: has no value", path);
    if (node.kind != Tree::Kind::kScalar) fail_at(node.origin, "{}: must be a single value", path);
    try {
      return syntax.parse(node);
    } catch (const ValueError& error) {
      fail_at(node.origin, "{}: {}", path, error.what());
    }
  }

 public:
  /// `path` is the dotted path of the map, "" for the root.
  Reader(const Tree& map, std::string path) : map_(map), prefix_(path.empty() ? path : path + ".") {
    if (map.kind != Tree::Kind::kMap) fail_at(map.origin, "{}: must be a map of keys", path);
  }

  template <class T, class Syntax>
  void field(std::string_view key, T& value, const Syntax& syntax) {
    if (const Tree* node = visit(key)) value = parse(*node, path(key), syntax);
  }

  template <class T, class Syntax>
  void list(std::string_view key, std::vector<T>& values, const Syntax& syntax) {
    const Tree* node = visit(key);
    if (node == nullptr) return;
    values.clear();
    if (node->kind == Tree::Kind::kMap)
      fail_at(node->origin, "{}: must be a list of values, as in [a, b], or a single value", path(key));
    if (node->kind != Tree::Kind::kList) {
      values.push_back(parse(*node, path(key), syntax));
      return;
    }
    for (size_t i = 0; i < node->items.size(); ++i) {
      values.push_back(parse(node->items[i], fmt::format("{}[{}]", path(key), i), syntax));
    }
  }

  template <class Describe>
  void section(std::string_view key, Describe describe) {
    const Tree* node = visit(key);
    if (node == nullptr) return;
    Reader keys(*node, path(key));
    describe(keys);
    keys.finish();
  }

  template <class T, class Describe>
  void optional_section(std::string_view key, std::optional<T>& value, Describe describe) {
    section(key, [&](Reader& keys) { describe(keys, value.emplace()); });
  }

  template <class T, class Describe>
  void items(std::string_view key, std::vector<T>& values, Describe describe) {
    const Tree* node = visit(key);
    if (node == nullptr) return;
    if (node->kind != Tree::Kind::kList) fail_at(node->origin, "{}: must be a list", path(key));
    values.clear();
    for (size_t i = 0; i < node->items.size(); ++i) {
      Reader keys(node->items[i], fmt::format("{}[{}]", path(key), i));
      describe(keys, values.emplace_back());
      keys.finish();
    }
  }

  template <class Describe>
  void section_unless(bool, std::string_view key, Describe describe) {
    section(key, describe);
  }
  template <class T, class Describe>
  void optional_items(std::string_view key, std::vector<T>& values, Describe describe) {
    items(key, values, describe);
  }
  template <class Describe>
  void section_like(std::string_view key, Describe describe) {
    section(key, describe);
  }
  template <class T, class Describe>
  void optional_section_like(std::string_view key, std::optional<T>& value, Describe describe) {
    optional_section(key, value, describe);
  }

  void texts(std::string_view key, std::map<std::string, std::string>& values) {
    const Tree* node = visit(key);
    if (node == nullptr) return;
    if (node->kind != Tree::Kind::kMap) fail_at(node->origin, "{}: must be a map of keys", path(key));
    for (const Tree::Entry& entry : node->entries) {
      values[entry.key] = parse(entry.value, fmt::format("{}.{}", path(key), entry.key), Text{});
    }
  }

  void finish() const {
    for (const Tree::Entry& entry : map_.entries) {
      if (std::ranges::find(known_, entry.key) == known_.end())
        fail_unknown_key(entry.origin, prefix_, entry.key, known_);
    }
  }

 private:
  std::string path(std::string_view key) const { return fmt::format("{}{}", prefix_, key); }

  const Tree* visit(std::string_view key) {
    known_.push_back(key);
    const Tree* node = map_.find(key);
    if (node != nullptr && node->kind == Tree::Kind::kNull) fail_at(node->origin, "{}: has no value", path(key));
    return node;
  }

  const Tree& map_;
  std::string prefix_;
  std::vector<std::string_view> known_;
};

}  // namespace rankwire
