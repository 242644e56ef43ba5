#include "emulator/simulator/link_sharing.h"

#include <algorithm>
#include <utility>

namespace rankwire {
namespace {

constexpr __int128 kBitPicosecondsPerByte = __int128{8} * 1'000'000'000'000 * LinkUse::kWhole;

Bytes bytes_of(__int128 sent) {
  return Bytes(static_cast<int64_t>((sent + kBitPicosecondsPerByte / 2) / kBitPicosecondsPerByte));
}

/// The link that is counted, of one that may stand for it.
LinkId counted(std::span<const Link> links, LinkId link) {
  const LinkId whole = links[link.value].whole;
  return whole.valid() ? whole : link;
}

}  // namespace

std::vector<std::vector<JobId>> LinkSharing::jobs_of_links(std::span<const Link> links, std::span<const Flow> flows) {
  std::vector<std::vector<JobId>> jobs(links.size());
  for (const Flow& flow : flows) {
    if (!flow.job.valid()) continue;
    for (const LinkUse& use : flow.route->links) {
      std::vector<JobId>& there = jobs[counted(links, use.link).value];
      const auto place = std::ranges::lower_bound(there, flow.job);
      if (place == there.end() || *place != flow.job) there.insert(place, flow.job);
    }
  }
  return jobs;
}

bool LinkSharing::is_too_much(std::span<const Link> links, std::span<const Flow> flows) {
  size_t pairs = 0;
  for (const std::vector<JobId>& jobs : jobs_of_links(links, flows)) {
    if (jobs.size() > 1) pairs += jobs.size() * jobs.size();
  }
  return pairs > kMostPairs;
}

LinkSharing::LinkSharing(std::span<const Link> links, std::span<const Flow> flows)
    : first_use_{0}, rates_(flows.size()), is_here_(flows.size()) {
  const std::vector<std::vector<JobId>> jobs = jobs_of_links(links, flows);
  std::vector<uint32_t> place_of(links.size(), UINT32_MAX);
  size_t pairs = 0;
  for (uint32_t link = 0; link < links.size(); ++link) {
    if (jobs[link].size() < 2) continue;
    place_of[link] = static_cast<uint32_t>(links_.size());
    links_.push_back({.link = LinkId(link),
                      .first = static_cast<uint32_t>(presences_.size()),
                      .jobs = static_cast<uint32_t>(jobs[link].size()),
                      .first_pair = pairs});
    pairs += jobs[link].size() * jobs[link].size();
    for (uint32_t i = 0; i < jobs[link].size(); ++i)
      presences_.push_back({.place = place_of[link], .index = i, .job = jobs[link][i], .updated = {}, .time = {}});
  }
  pairs_.resize(pairs);
  for (const Flow& flow : flows) {
    for (const LinkUse& use : flow.route->links) {
      const LinkId link = counted(links, use.link);
      const uint32_t place = place_of[link.value];
      if (place == UINT32_MAX || !flow.job.valid()) continue;
      const auto index = std::ranges::lower_bound(jobs[link.value], flow.job) - jobs[link.value].begin();
      uses_.push_back({links_[place].first + static_cast<uint32_t>(index), use.share * use.times});
    }
    first_use_.push_back(static_cast<uint32_t>(uses_.size()));
  }
}

void LinkSharing::update(Presence& presence, Time now) noexcept {
  const Duration passed = now - std::exchange(presence.updated, now);
  if (presence.flows == 0) return;
  presence.time += passed;
  presence.sent += static_cast<__int128>(presence.rate) * passed.ps;
}

/// The job comes to where the others are, sign -1, or leaves them, 1. It is up to date.
void LinkSharing::meet(Presence& presence, int sign, Time now) noexcept {
  const SharedPlace& place = links_[presence.place];
  for (uint32_t i = 0; i < place.jobs; ++i) {
    Presence& other = presences_[place.first + i];
    if (i == presence.index || other.flows == 0) continue;
    update(other, now);
    const auto add = [&](const Presence& one, const Presence& beside) {
      Pair& pair = pairs_[place.first_pair + size_t{one.index} * place.jobs + beside.index];
      pair.time += Duration(sign * one.time.ps);
      pair.sent += sign * one.sent;
    };
    add(presence, other);
    add(other, presence);
  }
}

void LinkSharing::begin(uint32_t flow, Time at) noexcept {
  if (is_here_[flow] != 0) return;
  is_here_[flow] = 1;
  latest_ = at;
  for (const Use& use : uses_of(flow)) {
    Presence& presence = presences_[use.presence];
    update(presence, at);
    if (presence.flows == 0) meet(presence, -1, at);
    ++presence.flows;
  }
}

void LinkSharing::set_rate(uint32_t flow, int64_t rate, Time at) noexcept {
  if (is_here_[flow] == 0) return;
  latest_ = at;
  const int64_t more = rate - std::exchange(rates_[flow], rate);
  for (const Use& use : uses_of(flow)) {
    update(presences_[use.presence], at);
    presences_[use.presence].rate += more * use.weight;
  }
}

void LinkSharing::end(uint32_t flow, Time at) noexcept {
  if (is_here_[flow] == 0) return;
  set_rate(flow, 0, at);
  is_here_[flow] = 0;
  for (const Use& use : uses_of(flow)) {
    Presence& presence = presences_[use.presence];
    if (presence.flows == 1) meet(presence, 1, at);
    --presence.flows;
  }
}

std::vector<SharedLink> LinkSharing::shared() const {
  std::vector<SharedLink> rows;
  for (const SharedPlace& place : links_) {
    for (uint32_t i = 0; i < place.jobs; ++i) {
      Presence presence = presences_[place.first + i];
      update(presence, latest_);
      for (uint32_t j = 0; j < place.jobs; ++j) {
        const Presence& other = presences_[place.first + j];
        Pair pair = pairs_[place.first_pair + size_t{i} * place.jobs + j];
        if (i != j && presence.flows > 0 && other.flows > 0) pair.time += presence.time, pair.sent += presence.sent;
        if (pair.time == Duration(0)) continue;
        rows.push_back({.link = place.link,
                        .job = presence.job,
                        .other = other.job,
                        .time = presence.time,
                        .shared = pair.time,
                        .bytes = bytes_of(presence.sent),
                        .shared_bytes = bytes_of(pair.sent)});
      }
    }
  }
  return rows;
}

}  // namespace rankwire
