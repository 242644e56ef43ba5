#include "emulator/engine/live_feed.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rankwire {
namespace {

constexpr size_t kWordsOfJob = 2, kWordsOfPort = 4, kWordsOfRank = 3;
constexpr std::array kOfBackground = {&LiveBackground::posted,          &LiveBackground::delivered,
                                      &LiveBackground::failed,          &LiveBackground::bytes_posted,
                                      &LiveBackground::bytes_delivered, &LiveBackground::packets_sent,
                                      &LiveBackground::packets_arrived};

}  // namespace

LiveFeed::LiveFeed(std::string run, std::vector<std::string> port_names, std::vector<Job> planned,
                   uint64_t all_operations, uint32_t workers, std::vector<Rank> all_ranks,
                   std::vector<std::string> names_of_nodes, std::vector<Background> entries)
    : label(std::move(run)),
      ports(std::move(port_names)),
      jobs(std::move(planned)),
      operations(all_operations),
      ranks(std::move(all_ranks)),
      node_names(std::move(names_of_nodes)),
      background(std::move(entries)),
      waits(workers),
      tallies_(workers, std::vector<PortTally>(ports.size())) {
  for (uint32_t worker = 0; worker < workers; ++worker) snapshots_.emplace_back(words());
}

size_t LiveFeed::words() const noexcept {
  return 1 + static_cast<size_t>(LiveCount::kNumber) + kWordsOfJob * jobs.size() + kWordsOfPort * ports.size() +
         kWordsOfRank * ranks.size() + kOfBackground.size() * background.size();
}

void LiveFeed::pack(const LiveFigures& figures, std::span<uint64_t> words) const noexcept {
  auto to = words.begin();
  *to++ = static_cast<uint64_t>(figures.now.ps);
  to = std::ranges::copy(figures.counts, to).out;
  for (const LiveJob& job : figures.jobs) *to++ = job.bytes, *to++ = job.iterations;
  for (const PortTally& port : figures.ports) {
    *to++ = port.tx_packets, *to++ = port.tx_bytes;
    *to++ = port.rx_packets, *to++ = port.rx_bytes;
  }
  for (const RankProgress& rank : figures.ranks)
    *to++ = rank.ended, *to++ = static_cast<uint64_t>(rank.last_end.ps), *to++ = rank.last;
  for (const LiveBackground& entry : figures.background)
    for (const auto count : kOfBackground) *to++ = entry.*count;
}

LiveFigures LiveFeed::read() const {
  LiveFigures sum;
  sum.jobs.resize(jobs.size());
  sum.ports.resize(ports.size());
  sum.ranks.resize(ranks.size());
  sum.background.resize(background.size());
  std::vector<uint64_t> words(this->words());
  for (const LiveSnapshot& snapshot : snapshots_) {
    if (!snapshot.read(words)) continue;
    auto from = words.begin();
    sum.now = std::max(sum.now, Time(static_cast<int64_t>(*from++)));
    for (uint64_t& count : sum.counts) count += *from++;
    for (LiveJob& job : sum.jobs) {
      job.bytes += *from++;
      // Each has noticed as many at least as it says.
      job.iterations = std::max(job.iterations, *from++);
    }
    for (PortTally& port : sum.ports) {
      port.tx_packets += *from++, port.tx_bytes += *from++;
      port.rx_packets += *from++, port.rx_bytes += *from++;
    }
    // Of each rank one worker knows, and the others have zeros.
    for (RankProgress& rank : sum.ranks) {
      rank.ended += *from++;
      rank.last_end += Duration(static_cast<int64_t>(*from++));
      rank.last += static_cast<uint32_t>(*from++);
    }
    for (LiveBackground& entry : sum.background)
      for (const auto count : kOfBackground) entry.*count += *from++;
  }
  return sum;
}

}  // namespace rankwire
