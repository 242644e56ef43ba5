#include "emulator/input/key_places.h"

#include "emulator/input/tree.h"

namespace rankwire {

KeyPlaces::KeyPlaces(const Tree& root) {
  places_.emplace("", root.origin.place);
  for (const Tree::Entry& entry : root.entries) note(entry.value, entry.key, true);
}

std::string KeyPlaces::of(std::string_view key) const {
  std::string_view written = key;
  auto found = places_.find(written);
  while (found == places_.end() && !written.empty()) {
    const size_t last = written.find_last_of(".[");
    written = written.substr(0, last == std::string_view::npos ? 0 : last);
    found = places_.find(written);
  }
  return found == places_.end() ? std::string(key) : fmt::format("{}: {}", found->second, key);
}

std::string KeyPlaces::located(std::string_view text) const {
  const std::string_view key = text.substr(0, text.find(": "));
  const bool is_key = key.size() < text.size() && key.find_first_of(" '\":") == std::string_view::npos;
  return is_key ? fmt::format("{}{}", of(key), text.substr(key.size())) : std::string(text);
}

void KeyPlaces::note(const Tree& node, const std::string& key, bool takes_lists) {
  places_.emplace(key, node.origin.place);
  for (size_t i = 0; takes_lists && i < node.items.size(); ++i)
    note(node.items[i], fmt::format("{}[{}]", key, i), false);
  for (const Tree::Entry& entry : node.entries) note(entry.value, fmt::format("{}.{}", key, entry.key), false);
}

}  // namespace rankwire
