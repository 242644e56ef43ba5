#include "emulator/workload/job_placement.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace rankwire {
namespace {

/// Which jobs have the NPUs of all hosts.
class NpuTable {
 public:
  /// `npus`: of a host; absent: as many as are asked for.
  NpuTable(uint32_t hosts, std::optional<uint32_t> npus) : npus_(npus), hosts_(hosts) {}

  bool may_take(uint32_t host, uint32_t npu, uint32_t job, bool share) const {
    if (npus_ && npu >= *npus_) return false;
    if (host >= hosts_.size() || npu >= hosts_[host].size()) return true;
    const Npu& at = hosts_[host][npu];
    return !at.taken || (share && at.shared && at.last != job);
  }
  void take(uint32_t host, uint32_t npu, uint32_t job, bool share) {
    if (host >= hosts_.size()) hosts_.resize(host + 1);
    if (npu >= hosts_[host].size()) hosts_[host].resize(npu + 1);
    hosts_[host][npu] = {.taken = true, .shared = share, .last = job};
  }
  /// The job that had the NPU last.
  uint32_t holder(uint32_t host, uint32_t npu) const { return hosts_[host][npu].last; }
  /// The lowest NPU that the job may take.
  std::optional<uint32_t> lowest(uint32_t host, uint32_t job, bool share) const {
    const uint32_t end = npus_.value_or(static_cast<uint32_t>(hosts_[host].size()) + 1);
    for (uint32_t npu = 0; npu < end; ++npu)
      if (may_take(host, npu, job, share)) return npu;
    return std::nullopt;
  }
  /// Of the host with most, those up to the last that is taken, or what there are.
  uint32_t npus() const {
    uint32_t most = 1;
    for (const std::vector<Npu>& host : hosts_) most = std::max(most, static_cast<uint32_t>(host.size()));
    return npus_.value_or(most);
  }

 private:
  struct Npu {
    bool taken = false, shared = false;
    uint32_t last = 0;
  };

  std::optional<uint32_t> npus_;
  std::vector<std::vector<Npu>> hosts_;
};

class JobPlacer {
 public:
  JobPlacer(std::span<const JobPlacement> jobs, const PlacementOptions& options, std::optional<uint32_t> npus)
      : jobs_(jobs), options_(options), npus_(npus), table_(options.hosts, npus) {}

  std::vector<Place> run() {
    std::vector<std::vector<Place>> places(jobs_.size());
    for (uint32_t j = 0; j < jobs_.size(); ++j)
      if (jobs_[j].policy == PlacementPolicy::kExplicit) places[j] = explicit_places(j);
    for (uint32_t j = 0; j < jobs_.size(); ++j)
      if (jobs_[j].policy != PlacementPolicy::kExplicit) places[j] = policy_places(j);
    std::vector<Place> all;
    for (uint32_t j = 0; j < jobs_.size(); ++j) {
      for (Place& place : places[j]) {
        if (jobs_[j].policy != PlacementPolicy::kExplicit) connect(place);
        all.push_back(place);
      }
    }
    return all;
  }

 private:
  std::vector<Place> explicit_places(uint32_t j) {
    const JobPlacement& job = jobs_[j];
    if (job.places.size() != job.ranks) {
      fail_input("{}.mapping.ranks: {} ranks are placed but the workload has {}", job.label, job.places.size(),
                 job.ranks);
    }
    for (const Place& place : job.places) {
      if (!table_.may_take(place.host, place.npu, j, job.share))
        fail_input("{}.mapping.ranks: NPU {} of host {} is not free: job {} has it", job.label, place.npu, place.host,
                   jobs_[table_.holder(place.host, place.npu)].label);
      table_.take(place.host, place.npu, j, job.share);
    }
    return job.places;
  }

  std::vector<Place> policy_places(uint32_t j) {
    const JobPlacement& job = jobs_[j];
    std::vector<uint32_t> hosts = job.hosts;
    if (hosts.empty()) {
      hosts.resize(options_.hosts);
      std::iota(hosts.begin(), hosts.end(), 0u);
    }
    const auto count = static_cast<uint32_t>(hosts.size());
    const bool block = job.policy == PlacementPolicy::kBlock;
    const uint32_t most = npus_ ? std::numeric_limits<uint32_t>::max() : (job.ranks + count - 1) / count;
    std::vector<uint32_t> held(count, 0);
    std::vector<Place> places;
    uint32_t next = 0;
    while (places.size() < job.ranks) {
      std::optional<uint32_t> npu;
      for (uint32_t looked = 0; looked < count; ++looked) {
        if (held[next] < most) npu = table_.lowest(hosts[next], j, job.share);
        if (npu) break;
        next = (next + 1) % count;
      }
      if (!npu) {
        fail_input("{}: its rank {} has no place: all NPUs of {} are taken; raise hosts.npus or give it other hosts",
                   job.label, places.size(), job.hosts.empty() ? "the hosts" : "its hosts");
      }
      table_.take(hosts[next], *npu, j, job.share);
      places.push_back({.host = hosts[next], .npu = *npu, .nic = 0, .port = {}});
      ++held[next];
      if (!block) next = (next + 1) % count;
    }
    return places;
  }

  void connect(Place& place) const {
    place.nic = place.npu * options_.nics / table_.npus();
    const uint32_t port = (place.host * options_.nics + place.nic) % options_.ports;
    place.port = options_.rank_ports.empty() ? PortId(port) : options_.rank_ports[port];
  }

  const std::span<const JobPlacement> jobs_;
  const PlacementOptions& options_;
  const std::optional<uint32_t> npus_;
  NpuTable table_;
};

}  // namespace

std::vector<Place> place_jobs(std::span<const JobPlacement> jobs, const PlacementOptions& options,
                              std::optional<uint32_t> npus) {
  return JobPlacer(jobs, options, npus).run();
}

}  // namespace rankwire
