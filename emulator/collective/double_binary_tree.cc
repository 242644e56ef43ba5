#include "emulator/collective/algorithms.h"
#include "emulator/collective/binary_tree.h"
#include "emulator/collective/data_flow.h"
#include "emulator/collective/host_map.h"

namespace rankwire {
namespace {

/// A tree of hosts, each a chain whose first member is in the tree (NCCL 2.30.7, graph/connect.cc, of
/// NCCL_TOPO_PATTERN_TREE).
TreePlace place_in_tree(const ScheduleBuilder& builder) {
  const HostMap map(builder.request());
  const uint32_t me = builder.position(), host = map.host_of(me), index = map.index_of(me);
  const std::vector<uint32_t>& chain = map.members(host);
  TreePlace place;
  if (index == 0) {
    place = builder.is_mirrored() ? complementary_binary_tree(map.hosts(), host) : binary_tree(map.hosts(), host);
    if (place.parent) place.parent = map.members(*place.parent).front();
    for (uint32_t& child : place.children) child = map.members(child).front();
  } else {
    place.parent = chain[index - 1];
  }
  if (index + 1 < chain.size()) place.children.push_back(chain[index + 1]);
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
