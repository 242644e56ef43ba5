// Index types that cannot be mixed up. An id is a dense index into the table of its kind; `invalid()` means none.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace rankwire {

template <class Tag>
struct Id {
  uint32_t value = UINT32_MAX;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  static constexpr Id invalid() { return Id(); }
  constexpr bool valid() const { return value != UINT32_MAX; }
  constexpr auto operator<=>(const Id&) const = default;
};

using RankId = Id<struct RankTag>;              ///< an emulated rank, 0..ranks-1 over the whole run
using JobId = Id<struct JobTag>;                ///< a workload among those that share the run
using GroupId = Id<struct GroupTag>;            ///< a process group (communicator)
using HostId = Id<struct HostTag>;              ///< an emulated host: a scale-up domain
using NicId = Id<struct NicTag>;                ///< an emulated NIC: one MAC and IP address
using PortId = Id<struct PortTag>;              ///< a physical or virtual port of the generator
using LinkId = Id<struct LinkTag>;              ///< a directed link of the reference model
using ConnectionId = Id<struct ConnectionTag>;  ///< a directed RC connection: (job, group, pair, channel)

}  // namespace rankwire

template <class Tag>
struct std::hash<rankwire::Id<Tag>> {
  size_t operator()(rankwire::Id<Tag> id) const noexcept { return std::hash<uint32_t>()(id.value); }
};
