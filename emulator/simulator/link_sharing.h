// Which links of a network several jobs used at once, for how long, and what they sent over them then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"
#include "base/units.h"
#include "fabric/network.h"

namespace rankwire {

/// One job beside one other on one link. Bytes are of the line, headers included.
struct SharedLink {
  LinkId link;
  JobId job, other;
  Duration time;       ///< in which the job had flows there
  Duration shared;     ///< in which the other had flows there, too
  Bytes bytes;         ///< that the job sent there
  Bytes shared_bytes;  ///< and while the other had flows there
};

/// Told of the flows of a NetworkModel: when each is on its links, and how fast. Counts on links alone that flows of
/// several jobs may take; all others cost nothing. A link that stands for a degraded cable is counted as Link::whole,
/// the cable's own: whoever goes from one to the other stays where he is, at another rate. A change of a rate costs the
/// same however many jobs there are, and a job that comes to a link or leaves it as much as there are others. Times
/// never decrease. All memory is taken by the constructor.
class LinkSharing {
 public:
  /// Pairs of jobs on all links that are counted at most.
  static constexpr size_t kMostPairs = size_t{1} << 21;
  /// Memory of so many flows over so many links each, on all of which together so many pairs of jobs meet. A link on
  /// which n jobs meet, at least two, has n x n pairs, and so at most half as many jobs.
  static constexpr size_t bytes(size_t flows, size_t links_each, size_t pairs) {
    return flows * (links_each * sizeof(Use) + sizeof(uint32_t) + sizeof(int64_t) + sizeof(uint8_t)) +
           pairs * (sizeof(Pair) + sizeof(Presence) / 2);
  }

  /// A flow: whose it is, and where it goes.
  struct Flow {
    JobId job;                     ///< invalid: it does not count
    const Route* route = nullptr;  ///< outlives the constructor
  };

  /// `flows` are numbered by their places. None is on its links.
  LinkSharing(std::span<const Link> links, std::span<const Flow> flows);

  /// Whether that many jobs meet on so many links that pairs are more than kMostPairs.
  static bool is_too_much(std::span<const Link> links, std::span<const Flow> flows);

  /// The flow is on its links from `at` on, at no rate yet.
  void begin(uint32_t flow, Time at) noexcept;
  /// It has this rate from `at` on, bit/s. Without effect on a flow that has not begun.
  void set_rate(uint32_t flow, int64_t rate, Time at) noexcept;
  /// It is no longer there.
  void end(uint32_t flow, Time at) noexcept;

  /// Where two jobs have been at once, link by link, up to the last time told.
  std::vector<SharedLink> shared() const;

 private:
  /// A flow on a link that is counted.
  struct Use {
    uint32_t presence;
    uint32_t weight;  ///< of LinkUse::kWhole: that part of its rate
  };
  /// A job on a link. `sent` and `time` are as of `updated`.
  struct Presence {
    uint32_t place;  ///< of its link in `links_`
    uint32_t index;  ///< among the link's
    JobId job;
    uint32_t flows = 0;  ///< there now
    int64_t rate = 0;    ///< of them, bit/s times LinkUse::kWhole
    Time updated;
    Duration time;
    __int128 sent = 0;  ///< rate times picoseconds
  };
  /// A job beside another on a link: what the job had when both had last left each other, less what it had when they
  /// met. While both are there the second is taken off already.
  struct Pair {
    Duration time;
    __int128 sent = 0;
  };
  struct SharedPlace {
    LinkId link;
    uint32_t first = 0, jobs = 0;  ///< of its presences
    size_t first_pair = 0;         ///< jobs x jobs, by job and other
  };

  static std::vector<std::vector<JobId>> jobs_of_links(std::span<const Link> links, std::span<const Flow> flows);
  std::span<const Use> uses_of(uint32_t flow) const noexcept {
    return {uses_.data() + first_use_[flow], uses_.data() + first_use_[flow + 1]};
  }
  static void update(Presence& presence, Time now) noexcept;
  void meet(Presence& presence, int sign, Time now) noexcept;

  std::vector<SharedPlace> links_;
  std::vector<Presence> presences_;
  std::vector<Pair> pairs_;
  std::vector<uint32_t> first_use_;  ///< flows + 1 offsets into `uses_`
  std::vector<Use> uses_;
  std::vector<int64_t> rates_;    ///< by flow
  std::vector<uint8_t> is_here_;  ///< by flow
  Time latest_;                   ///< told
};

}  // namespace rankwire
