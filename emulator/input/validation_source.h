// What checks of a configuration are made of.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "emulator/input/config.h"
#include "emulator/input/tree.h"

namespace rankwire {

/// The configuration with the places of its keys. Both are borrowed.
struct Source {
  const RunConfig& config;
  const Tree& root;

  template <class... Args>
  [[noreturn]] void fail(const std::string& key, fmt::format_string<Args...> format, Args&&... args) const {
    fail_key(root, key, format, std::forward<Args>(args)...);
  }
  bool has(std::string_view section, std::string_view key) const {
    const Tree* node = root.find(section);
    return node != nullptr && node->find(key) != nullptr;
  }
};

}  // namespace rankwire
