#include "emulator/report/settings.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

namespace rankwire {
namespace {

using Json = nlohmann::ordered_json;

void unescape(std::string& text, std::string_view escape, char meant) {
  for (size_t at = 0; (at = text.find(escape, at)) != text.npos; ++at) {
    text[at] = meant;
    text.erase(at + 1, escape.size() - 1);
  }
}

/// "/ports/0/name" of RFC 6901 as "ports[0].name".
std::string dotted(const std::string& pointer) {
  std::string key;
  for (size_t begin = 1; begin <= pointer.size();) {
    const size_t end = std::min(pointer.find('/', begin), pointer.size());
    std::string part = pointer.substr(begin, end - begin);
    unescape(part, "~1", '/');
    unescape(part, "~0", '~');
    if (!part.empty() && part.find_first_not_of("0123456789") == part.npos) {
      key += "[" + part + "]";
    } else {
      key += (key.empty() ? "" : ".") + part;
    }
    begin = end + 1;
  }
  return key;
}

std::map<std::string, std::string> flat_settings(const RunReader& record) {
  std::map<std::string, std::string> settings;
  const Json config = Json::parse(record.config(), nullptr, false);
  if (config.is_discarded() || !config.is_structured()) return settings;
  const Json flat = config.flatten();
  for (const auto& [pointer, value] : flat.items()) settings[dotted(pointer)] = value.dump();
  return settings;
}

}  // namespace

std::vector<DifferentSetting> different_settings(const RunReader& base, const RunReader& other) {
  const auto of_base = flat_settings(base), of_other = flat_settings(other);
  std::set<std::string> keys;
  for (const auto& [key, value] : of_base) keys.insert(key);
  for (const auto& [key, value] : of_other) keys.insert(key);
  const auto value_of = [](const auto& settings, const std::string& key) {
    const auto at = settings.find(key);
    return at == settings.end() ? std::string() : at->second;
  };
  std::vector<DifferentSetting> different;
  for (const std::string& key : keys) {
    DifferentSetting setting{key, value_of(of_base, key), value_of(of_other, key)};
    const auto meant = [](const std::string& value) { return value == "\"none\"" ? std::string() : value; };
    if (meant(setting.base) != meant(setting.other)) different.push_back(std::move(setting));
  }
  return different;
}

}  // namespace rankwire
