// Which loads of a model are held to their shares.
#pragma once

#include <cstdint>
#include <vector>

#include "base/link_loads.h"
#include "emulator/simulator/max_min.h"
#include "fabric/network.h"

namespace rankwire {

/// A load is held to its share while one of its links is full and carries something that is modelled. Where a link
/// carries loads alone, whoever carries these shares it out, and where there is room nobody is in the way. No
/// allocation after construction.
class LoadHolds {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  /// `links`, `connections`: how many there are. `senders` are borrowed.
  LoadHolds(size_t links, size_t connections, HeldSenders& senders);

  /// A connection that is modelled, or one of a load, takes part in the sharing of its links, or does so no more.
  void begin(const Route& route) noexcept { count(route, modelled_, 1); }
  void end(const Route& route) noexcept { count(route, modelled_, -1); }
  void begin_load(uint32_t connection, const Route& route) noexcept;
  void end_load(uint32_t connection, const Route& route) noexcept;

  /// After `shares` were solved. `load_of(connection)` is the LoadHolds::Load of a connection that has begun.
  struct Load {
    const Route* route;
    uint32_t variable;
    ConnectionId id;
  };
  template <class LoadOf>
  void renew(const MaxMin& shares, Time now, LoadOf load_of) noexcept {
    if (!concerns_loads(shares)) return;
    for (const uint32_t connection : begun_) renew(connection, load_of(connection), shares, now);
  }
  /// The connection is no load any more.
  void release(uint32_t connection, ConnectionId id, Time now) noexcept { tell(connection, id, Bandwidth(), now); }

 private:
  static void count(const Route& route, std::vector<uint32_t>& by_link, int32_t change) noexcept;
  bool concerns_loads(const MaxMin& shares) const noexcept;
  void renew(uint32_t connection, const Load& load, const MaxMin& shares, Time now) noexcept;
  void tell(uint32_t connection, ConnectionId id, Bandwidth rate, Time now) noexcept;

  HeldSenders& senders_;
  std::vector<uint32_t> modelled_, loads_;  // connections by link
  std::vector<uint32_t> begun_;             // loads
  std::vector<uint32_t> place_;             // among them, by connection
  std::vector<Bandwidth> told_;             // by connection; 0: it is not held
};

}  // namespace rankwire
