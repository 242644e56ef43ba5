#include "emulator/device_counters/gnmi_path.h"

#include <algorithm>

#include "base/error.h"

namespace rankwire {
namespace {

/// Reads a text from its beginning.
class PathReader {
 public:
  explicit PathReader(std::string_view text) : whole_(text), rest_(text) {}

  bool is_at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// Up to one of `ends`, or to the end.
  std::string until(std::string_view ends) {
    std::string text;
    while (!rest_.empty() && ends.find(rest_.front()) == ends.npos) {
      if (rest_.front() == '\\' && rest_.size() > 1) rest_.remove_prefix(1);
      text += rest_.front();
      rest_.remove_prefix(1);
    }
    return text;
  }
  [[noreturn]] void fail(const char* why) const { fail_input("the path '{}' {}", whole_, why); }

 private:
  const std::string_view whole_;
  std::string_view rest_;
};

std::string without_module(const std::string& name) {
  return name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1);
}

/// Where "Ethernet0:3" is queue 3 of a port.
bool is_port(const std::string& text, const std::string& port, std::string& queue) {
  if (!text.starts_with(port)) return false;
  if (text.size() == port.size()) return true;
  const char separator = text[port.size()];
  if ((separator != ':' && separator != '|') || text.size() == port.size() + 1) return false;
  queue = text.substr(port.size() + 1);
  return true;
}

/// Adds the names of elements.
void add_names(std::string& name, std::span<const GnmiElement> elements) {
  for (const GnmiElement& element : elements) name += (name.empty() ? "" : "/") + without_module(element.name);
}

std::optional<GnmiCounter> by_keys(std::span<const GnmiElement> path, size_t first) {
  GnmiCounter counter{.port = path[first].keys.begin()->second, .queue = {}, .name = {}};
  for (const GnmiElement& element : path.subspan(first + 1))
    if (!element.keys.empty()) counter.queue = element.keys.begin()->second;
  add_names(counter.name, path.subspan(first + 1));
  return counter.name.empty() ? std::nullopt : std::optional(counter);
}

}  // namespace

GnmiPath parse_gnmi_path(std::string_view text) {
  GnmiPath path;
  const size_t colon = text.find(":/");
  if (colon != text.npos && text.substr(0, colon).find_first_of("/[") == text.npos) {
    path.origin = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  PathReader reader(text);
  reader.take('/');
  while (!reader.is_at_end()) {
    GnmiElement& element = path.elements.emplace_back();
    element.name = reader.until("/[");
    if (element.name.empty()) reader.fail("has an element without a name");
    while (reader.take('[')) {
      const std::string key = reader.until("=]");
      if (key.empty() || !reader.take('=')) reader.fail("has a key without '=': [KEY=VALUE] is one");
      const std::string value = reader.until("]");
      if (!reader.take(']')) reader.fail("has a '[' without ']'");
      element.keys[key] = value;
    }
    if (!reader.is_at_end() && !reader.take('/')) reader.fail("has something between ']' and '/'");
  }
  if (path.elements.empty()) reader.fail("names nothing");
  return path;
}

std::optional<GnmiCounter> counter_of_path(std::span<const GnmiElement> path, std::span<const std::string> ports) {
  const auto keyed = std::ranges::find_if(path, [](const GnmiElement& element) { return !element.keys.empty(); });
  if (keyed != path.end()) return by_keys(path, static_cast<size_t>(keyed - path.begin()));
  GnmiCounter counter;
  size_t behind = 0;
  // The last one that is: COUNTERS/Ethernet0/Queues has members Ethernet0:3.
  for (size_t i = 0; i < path.size(); ++i)
    for (const std::string& port : ports)
      if (is_port(path[i].name, port, counter.queue)) counter.port = port, behind = i + 1;
  if (behind == 0 && path.size() > 2) counter.port = path[1].name, behind = 2;
  add_names(counter.name, path.subspan(behind));
  if (behind == 0 || counter.name.empty()) return std::nullopt;
  return counter;
}

}  // namespace rankwire
