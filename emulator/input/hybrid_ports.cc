#include "emulator/input/hybrid_ports.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "emulator/input/config.h"
#include "emulator/input/hybrid_schema.h"
#include "emulator/input/reader.h"

namespace rankwire {
namespace {

Tree scalar(const Origin& origin, std::string text) {
  return {.kind = Tree::Kind::kScalar, .origin = origin, .text = std::move(text), .items = {}, .entries = {}};
}

void set(Tree& map, const char* key, const Tree& value) {
  map.entries.push_back({.key = key, .origin = value.origin, .value = value});
}

struct Hosts {
  std::optional<uint32_t> count, nics;
};

Hosts read_hosts(const Tree& root) {
  Hosts hosts;
  const Tree* tree = root.find("hosts");
  if (tree == nullptr) return hosts;
  Reader keys(*tree, "hosts");
  keys.field("count", hosts.count, Or{"auto", Integer<uint32_t>{2, 65'536}});
  keys.field("nics", hosts.nics, Or{"auto", Integer<uint32_t>{1, 1'024}});
  return hosts;
}

}  // namespace

void write_out_modelled_ports(Tree& root, size_t most) {
  Tree* const hybrid = root.find("hybrid");
  if (hybrid == nullptr || hybrid->kind != Tree::Kind::kMap || hybrid->find("rate") == nullptr) return;
  HybridConfig config;
  Reader keys(*hybrid, "hybrid");
  describe_hybrid(keys, config);
  keys.finish();
  const Tree rate = *hybrid->find("rate");
  hybrid->erase("rate");
  if (!config.rate) return;
  const auto fail = [&](const std::string& why) { fail_at(rate.origin, "hybrid.rate: {}", why); };

  const Hosts hosts = read_hosts(root);
  if (!hosts.count) fail("needs 'hosts.count', to know of how many hosts ports are to be made");
  std::set<uint32_t> wired;
  for (size_t i = 0; i < config.wired.size(); ++i) {
    const Origin& origin = hybrid->find("wired")->origin;
    const uint32_t host = config.wired[i];
    if (host >= *hosts.count)
      fail_at(origin, "hybrid.wired[{}]: there is no host {}; there are hosts 0 .. {}", i, host, *hosts.count - 1);
    if (!wired.insert(host).second) fail_at(origin, "hybrid.wired[{}]: names host {} twice", i, host);
  }
  Tree* const ports = root.find("ports");
  const size_t given = ports == nullptr ? 0 : ports->items.size();
  if (wired.empty() || given == 0 || ports->kind != Tree::Kind::kList)
    fail("makes ports of hosts that are modelled beside those of wired hosts, and there are none of these");
  const size_t each = hosts.nics.value_or(1);
  if (given != each * wired.size())
    fail(fmt::format(
        "'ports' must have those of the {} wired hosts alone, {} of each{}, and has {}; without 'rate' it has those of "
        "all hosts",
        wired.size(), each, hosts.nics ? "" : " where hosts.nics says no other", given));
  if (*hosts.count * each > most)
    fail(fmt::format("{} ports of each of {} hosts are {}, the most is {}", each, *hosts.count, *hosts.count * each,
                     most));
  // As in the short form of `ports`: there are not so many rings.
  const bool in_memory = *hosts.count * each > kMostRingPorts;
  std::vector<Tree> all;
  auto next = ports->items.begin();
  for (uint32_t host = 0; host < *hosts.count; ++host) {
    for (size_t nic = 0; nic < each; ++nic) {
      const bool is_given = wired.contains(host) && next != ports->items.end();
      Tree& port = all.emplace_back(
          is_given ? *next++
                   : Tree{.kind = Tree::Kind::kMap, .origin = rate.origin, .text = {}, .items = {}, .entries = {}});
      if (!is_given) set(port, "rate", rate);
      const bool has_device =
          port.kind != Tree::Kind::kMap || port.find("device") != nullptr || port.find("verbs") != nullptr;
      if (in_memory && !has_device) set(port, "device", scalar(port.origin, "memory"));
    }
  }
  // Those of hosts that there are not, which is told later.
  all.insert(all.end(), next, ports->items.end());
  ports->items = std::move(all);
}

}  // namespace rankwire
