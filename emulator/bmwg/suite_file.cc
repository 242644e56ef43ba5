#include "emulator/bmwg/suite_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/error.h"
#include "emulator/bmwg/catalogue.h"
#include "emulator/hooks/hook.h"
#include "emulator/input/config.h"
#include "emulator/input/nearest_key.h"
#include "emulator/input/syntax.h"
#include "emulator/input/units.h"
#include "emulator/suite/suite.h"

namespace rankwire {
namespace {

constexpr std::array<std::string_view, 9> kKeys = {"name", "base",  "set",   "dut",          "topology",
                                                   "host", "tests", "hooks", "hook_patience"};
constexpr std::array<std::string_view, 4> kHooks = {"link_down", "link_up", "counters", "mirror"};

const std::string& bmwg_text(const Tree& value, std::string_view key) {
  if (value.kind != Tree::Kind::kScalar || value.text.empty()) fail_at(value.origin, "{}: a text is expected", key);
  return value.text;
}

const Tree& bmwg_map(const Tree& value, std::string_view key) {
  if (value.kind != Tree::Kind::kMap) fail_at(value.origin, "{}: 'key: value' lines are expected", key);
  return value;
}

/// A single text is the name of what it describes.
std::map<std::string, std::string> free_texts(const Tree& value, std::string_view key) {
  if (value.kind == Tree::Kind::kScalar && !value.text.empty()) return {{"name", value.text}};
  if (value.kind != Tree::Kind::kMap) fail_at(value.origin, "{}: a text or 'key: value' lines are expected", key);
  std::map<std::string, std::string> texts;
  for (const Tree::Entry& entry : value.entries) texts[entry.key] = bmwg_text(entry.value, entry.key);
  return texts;
}

/// But for what only the program itself knows.
std::map<std::string, std::string> host_texts(const Tree& value) {
  if (value.kind == Tree::Kind::kMap)
    if (const Tree* const own = value.find("rankwire"); own != nullptr)
      fail_at(own->origin, "host.rankwire: is the version that measures, which stands in the report by itself");
  return free_texts(value, "host");
}

std::vector<std::string> read_settings(const Tree& value) {
  std::vector<std::string> settings;
  for (const Tree::Entry& setting : bmwg_map(value, "set").entries)
    settings.push_back(setting.key + "=" + flow_text(setting.value));
  return settings;
}

/// Keys of an override that are no parameters.
bool is_own_key(std::string_view key) {
  return key == "select" || key == "set";
}

std::map<std::string, std::string> read_hooks(const Tree& value) {
  std::map<std::string, std::string> hooks;
  for (const Tree::Entry& entry : bmwg_map(value, "hooks").entries) {
    if (std::ranges::find(kHooks, entry.key) == kHooks.end())
      fail_unknown_key(entry.origin, "hooks.", entry.key, kHooks);
    hooks[entry.key] = bmwg_text(entry.value, entry.key);
    try {
      split_command(hooks[entry.key]);
    } catch (const Error& error) {
      fail_at(entry.value.origin, "{}", error.what());
    }
  }
  return hooks;
}

/// A collective moves whole elements, and messages have a longest one.
void check_sizes(const BmwgTest& test, const BmwgParameters& parameters, const Tree::Entry& entry) {
  if (!is_size(entry.key)) return;
  const bool is_message = entry.key == test.messages;
  for (const Bytes size : parameters.sizes(entry.key)) {
    if (is_message && size > kLongestMessage)
      fail_at(entry.value.origin, "{}: {} of {} is more than a message may have, {} B", entry.key,
              print_quantity(size.count, kSizeScale), test.id, kLongestMessage.count);
    if (!is_message && size.count % test.element != 0)
      fail_at(entry.value.origin, "{}: {} B of {} is not a whole number of elements of {} B (float)", entry.key,
              size.count, test.id, test.element);
  }
}

/// Every parameter must mean something to one of the tests at least.
void check_override(const BmwgSuite::Override& item) {
  std::vector<std::string> ids;
  bool selects_any = false;
  for (const BmwgTest& test : bmwg_catalogue()) {
    ids.emplace_back(test.id);
    selects_any |= selects(item.select, test.id);
  }
  if (!selects_any) {
    const std::string near = nearest_name(item.select, ids);
    fail_at(item.origin, "select: no test is called '{}'{}", item.select,
            near.empty() ? "; `rankwire bmwg list` names them" : "; did you mean '" + near + "'?");
  }
  for (const Tree::Entry& entry : item.parameters.entries) {
    std::vector<std::string_view> known = {"select", "set"};
    bool is_taken = is_own_key(entry.key);
    for (const BmwgTest& test : bmwg_catalogue()) {
      if (!selects(item.select, test.id)) continue;
      BmwgParameters parameters(test.parameters, false);
      const bool is_set = !is_own_key(entry.key) && parameters.set(entry.key, entry.value);
      if (is_set) check_sizes(test, parameters, entry);
      is_taken |= is_set;
      for (const ParameterDefault& parameter : test.parameters)
        if (std::ranges::find(known, parameter.name) == known.end()) known.emplace_back(parameter.name);
    }
    if (!is_taken) fail_unknown_key(entry.origin, "", entry.key, known);
  }
}

std::vector<BmwgSuite::Override> read_overrides(const Tree& tests) {
  if (tests.kind != Tree::Kind::kList) fail_at(tests.origin, "tests: a list is expected");
  std::vector<BmwgSuite::Override> overrides;
  for (const Tree& item : tests.items) {
    const Tree* const select = bmwg_map(item, "an entry of tests").find("select");
    if (select == nullptr) fail_at(item.origin, "an entry of tests needs the key 'select', such as 'T1.*'");
    const Tree* const set = item.find("set");
    overrides.push_back({bmwg_text(*select, "select"), item,
                         set == nullptr ? std::vector<std::string>() : read_settings(*set), select->origin});
    check_override(overrides.back());
  }
  return overrides;
}

/// Tells where a setting stands that the base does not take. What else is wrong is found when a test is planned.
void check_settings(const std::filesystem::path& base, const std::vector<std::string>& settings, const Tree& set) {
  try {
    load_config(base.string(), settings);
  } catch (const Error& error) {
    const std::string_view text = error.what();
    for (const Tree::Entry& entry : set.entries) {
      const std::string own = fmt::format("--set {}={}: ", entry.key, flow_text(entry.value));
      if (text.starts_with(own)) fail_at(entry.origin, "set: {}", text.substr(own.size()));
    }
  }
}

void check_settings(const BmwgSuite& suite, const Tree& root) {
  if (const Tree* const set = root.find("set"); set != nullptr) check_settings(suite.base, suite.settings, *set);
  for (const BmwgSuite::Override& item : suite.overrides) {
    const Tree* const set = item.parameters.find("set");
    if (set == nullptr) continue;
    std::vector<std::string> settings = suite.settings;
    settings.insert(settings.end(), item.settings.begin(), item.settings.end());
    check_settings(suite.base, settings, *set);
  }
}

/// By which its folder below runs/ is called.
std::string folder_name(const Tree& value) {
  bmwg_text(value, "name");
  try {
    return FolderName().parse(value);
  } catch (const ValueError& error) {
    fail_at(value.origin, "name: {}", error.what());
  }
}

std::chrono::milliseconds patience_of(const Tree& value) {
  try {
    const int64_t ps = parse_quantity(bmwg_text(value, "hook_patience"), kDurationScale);
    if (ps >= 1'000'000'000) return std::chrono::milliseconds(ps / 1'000'000'000);
    throw ValueError("1ms or more is expected");
  } catch (const ValueError& error) {
    fail_at(value.origin, "hook_patience: {}", error.what());
  }
}

}  // namespace

BmwgSuite read_bmwg_suite(const std::filesystem::path& file) {
  const Tree root = read_yaml_file(file);
  BmwgSuite suite;
  for (const Tree::Entry& entry : root.entries) {
    if (std::ranges::find(kKeys, entry.key) == kKeys.end()) fail_unknown_key(entry.origin, "", entry.key, kKeys);
    const Tree& value = entry.value;
    if (entry.key == "name") suite.name = folder_name(value);
    if (entry.key == "base") suite.base = (value.origin.folder / bmwg_text(value, "base")).lexically_normal();
    if (entry.key == "set") suite.settings = read_settings(value);
    if (entry.key == "dut") suite.dut = free_texts(value, "dut");
    if (entry.key == "topology") suite.topology = free_texts(value, "topology");
    if (entry.key == "host") suite.host = host_texts(value);
    if (entry.key == "tests") suite.overrides = read_overrides(value);
    if (entry.key == "hooks") suite.hooks = read_hooks(value);
    if (entry.key == "hook_patience") suite.hook_patience = patience_of(value);
  }
  if (suite.name.empty()) fail_at(root.origin, "a suite needs the key 'name'");
  if (suite.base.empty()) fail_at(root.origin, "a suite needs the key 'base': the configuration that has the ports");
  check_settings(suite, root);
  return suite;
}

}  // namespace rankwire
