#include "emulator/collective/algorithms.h"
#include "emulator/collective/binary_tree.h"
#include "emulator/collective/data_flow.h"
#include "emulator/collective/host_map.h"

namespace rankwire {
namespace {

TreePlace place_of_host(const ScheduleBuilder& builder, const HostMap& map, uint32_t host) {
  return builder.is_mirrored() ? complementary_binary_tree(map.hosts(), host) : binary_tree(map.hosts(), host);
}

/// A tree of hosts, each a chain. Its first member sends to the parent host and has the second child; the first child
/// is the second member's, if there is one (NCCL 2.30.7, graph/connect.cc, NCCL_TOPO_PATTERN_BALANCED_TREE).
TreePlace place_in_tree(const ScheduleBuilder& builder) {
  const HostMap map(builder.request());
  const uint32_t me = builder.position(), index = map.index_of(me);
  const std::vector<uint32_t>& chain = map.members(map.host_of(me));
  const auto joint = [&](uint32_t host, bool first_child) {
    return map.members(host)[first_child && map.members(host).size() > 1 ? 1 : 0];
  };
  const TreePlace hosts = place_of_host(builder, map, map.host_of(me));
  TreePlace place;
  if (index > 0) place.parent = chain[index - 1];
  if (index == 0 && hosts.parent) place.parent = joint(*hosts.parent, hosts.is_first_child);
  if (index + 1 < chain.size()) place.children.push_back(chain[index + 1]);
  for (const uint32_t child : hosts.children)
    if (joint(map.host_of(me), place_of_host(builder, map, child).is_first_child) == me)
      place.children.push_back(map.members(child).front());
  return place;
}

}  // namespace

void double_binary_tree(ScheduleBuilder& builder) {
  const TreePlace place = place_in_tree(builder);
  const Pieces input = joined({builder.input()});
  DataFlow flow(builder);
  for (const uint32_t child : place.children) flow.receive_and_reduce(child, 0, input);
  if (place.parent) flow.send(*place.parent, 0, input);
  if (place.parent) flow.receive(*place.parent, 1, input);
  for (const uint32_t child : place.children) flow.send(child, 1, input);
}

}  // namespace rankwire
