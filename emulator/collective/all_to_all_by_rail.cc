// All-to-all in which data for another host first goes to the local member that has the destination's index there.
#include <utility>
#include <vector>

#include "emulator/collective/algorithms.h"
#include "emulator/collective/data_flow.h"
#include "emulator/collective/host_map.h"

namespace rankwire {
namespace {

/// Who of the source's host sends to the destination.
uint32_t forwarder(const HostMap& map, uint32_t source, uint32_t destination) {
  return map.counterpart(map.host_of(source), destination);
}

Pieces part(const ScheduleBuilder& builder, uint32_t source, uint32_t destination) {
  return joined({builder.part_between(source, destination)});
}

/// What a local member gets from another: its own part, and what it is to forward.
Pieces handed_over(const ScheduleBuilder& builder, const HostMap& map, uint32_t source, uint32_t neighbour) {
  std::vector<Extent> parts{builder.part_between(source, neighbour)};
  for (uint32_t destination = 0; destination < builder.members(); ++destination)
    if (map.host_of(destination) != map.host_of(source) && forwarder(map, source, destination) == neighbour)
      parts.push_back(builder.part_between(source, destination));
  return joined(std::move(parts));
}

/// What all members of a host have for a destination on another.
Pieces collected(const ScheduleBuilder& builder, const HostMap& map, uint32_t host, uint32_t destination) {
  std::vector<Extent> parts;
  for (const uint32_t source : map.members(host)) parts.push_back(builder.part_between(source, destination));
  return joined(std::move(parts));
}

}  // namespace

void hierarchical_all_to_all(ScheduleBuilder& builder) {
  const HostMap map(builder.request());
  const uint32_t n = builder.members(), me = builder.position(), host = map.host_of(me);
  DataFlow flow(builder);
  for (uint32_t d = 1; d < n; ++d) {
    const uint32_t to = builder.ahead(d), from = builder.behind(d);
    if (map.host_of(to) == host) flow.send(to, 0, handed_over(builder, map, me, to));
    if (map.host_of(from) == host) flow.receive(from, 0, handed_over(builder, map, from, me));
  }
  for (uint32_t d = 1; d < n; ++d) {
    const uint32_t to = builder.ahead(d), from = builder.behind(d);
    if (map.host_of(to) != host && forwarder(map, me, to) == me) flow.send(to, 1, collected(builder, map, host, to));
    if (map.host_of(from) != host && forwarder(map, from, me) == from)
      flow.receive(from, 1, collected(builder, map, map.host_of(from), me));
  }
}

void pxn_all_to_all(ScheduleBuilder& builder) {
  const HostMap map(builder.request());
  const uint32_t n = builder.members(), me = builder.position(), host = map.host_of(me);
  DataFlow flow(builder);
  // Local: step 0 is what the neighbour keeps, step 1 + d what it forwards to member d. On the network, step 1 + n + s
  // is the data of member s.
  for (uint32_t d = 1; d < n; ++d) {
    const uint32_t to = builder.ahead(d), from = builder.behind(d);
    if (map.host_of(to) == host) flow.send(to, 0, part(builder, me, to));
    if (map.host_of(from) == host) flow.receive(from, 0, part(builder, from, me));
  }
  for (uint32_t to = 0; to < n; ++to) {
    if (map.host_of(to) == host) continue;
    const uint32_t through = forwarder(map, me, to);
    if (through != me) flow.send(through, 1 + to, part(builder, me, to));
    for (const uint32_t source : map.members(host))
      if (through == me && source != me) flow.receive(source, 1 + to, part(builder, source, to));
  }
  for (uint32_t d = 1; d < n; ++d) {
    const uint32_t to = builder.ahead(d), from = builder.behind(d);
    for (const uint32_t source : map.members(host))
      if (map.host_of(to) != host && forwarder(map, me, to) == me)
        flow.send(to, 1 + n + source, part(builder, source, to));
    for (const uint32_t source : map.members(map.host_of(from)))
      if (map.host_of(from) != host && forwarder(map, from, me) == from)
        flow.receive(from, 1 + n + source, part(builder, source, me));
  }
}

}  // namespace rankwire
