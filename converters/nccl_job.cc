#include "converters/nccl_job.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "converters/call_writer.h"
#include "converters/equal_groups.h"
#include "converters/file_order.h"

namespace rankwire {
namespace {

/// Ranks of NCCL's are 32-bit, and a run has no more.
constexpr int64_t kMostRanksOfComm = int64_t{1} << 20;

constexpr const char* kLogMore = "log with NCCL_DEBUG_SUBSYS=INIT,COLL, which has the ranks of communicators";

uint32_t number_of(std::map<std::string, uint32_t, std::less<>>& numbers, std::string_view name) {
  const auto known = numbers.find(name);
  if (known != numbers.end()) return known->second;
  return numbers.emplace(name, static_cast<uint32_t>(numbers.size())).first->second;
}

}  // namespace

uint32_t NcclJob::process(std::string_view name) {
  const uint32_t number = number_of(process_index_, name);
  if (number == processes_.size()) processes_.emplace_back(name);
  return number;
}

NcclMember& NcclJob::member(uint32_t process, std::string_view handle, const std::string& file) {
  const auto [known, added] =
      handle_index_.try_emplace(fmt::format("{} {}", process, handle), static_cast<uint32_t>(members_.size()));
  if (added) members_.push_back({.process = process, .communicator = "", .file = file});
  return members_[known->second];
}

void NcclJob::forget(uint32_t process, std::string_view handle) {
  handle_index_.erase(fmt::format("{} {}", process, handle));
}

uint32_t NcclJob::chain(uint32_t process, std::string_view name) {
  return number_of(chain_index_, fmt::format("{} {}", process, name));
}

void NcclJob::add(const NcclCall& call) {
  if (calls_.size() == kMostNcclCalls)
    fail_input("{}: more than {} calls of NCCL's: give the logs of fewer steps", members_[call.member].file,
               kMostNcclCalls);
  calls_.push_back(call);
}

/// By host, device and process, since processes of a host may each see a device 0.
bool NcclJob::comes_before(const Place& a, const Place& b) const {
  const std::string &x = processes_[a.first], &y = processes_[b.first];
  const std::string_view host_x = std::string_view(x).substr(0, x.rfind(':'));
  const std::string_view host_y = std::string_view(y).substr(0, y.rfind(':'));
  if (host_x != host_y) return natural_less(host_x, host_y);
  return a.second != b.second ? a.second < b.second : natural_less(x, y);
}

/// Where logs do not say which communicator a member is of, those of one size are one, unless there are too many of
/// them.
void NcclJob::number_members(Conversion& conversion) {
  std::map<std::string, std::vector<uint32_t>> without;  // a rank, by communicator
  for (uint32_t i = 0; i < members_.size(); ++i) {
    NcclMember& member = members_[i];
    if (member.ranks < 1 || member.ranks > kMostRanksOfComm || member.rank >= member.ranks) {
      fail_input("{}: {}: rank {} of a communicator of {}", member.file, processes_[member.process], member.rank,
                 member.ranks);
    }
    if (member.communicator.empty()) member.communicator = fmt::format("of {} ranks", member.ranks);
    if (member.rank < 0) without[member.communicator].push_back(i);
  }
  for (auto& [communicator, of] : without) {
    if (of.size() > static_cast<size_t>(members_[of.front()].ranks)) {
      fail_input("{}: {} members of a communicator {}: which of them belong together is not logged; {}",
                 members_[of.front()].file, of.size(), communicator, kLogMore);
    }
    std::ranges::stable_sort(
        of, [&](uint32_t a, uint32_t b) { return comes_before(place_of(members_[a]), place_of(members_[b])); });
    for (uint32_t rank = 0; rank < of.size(); ++rank) members_[of[rank]].rank = rank;
    conversion.assumptions.push_back(
        fmt::format("the members of communicator {} have the order of hosts, devices and processes; to know it, {}",
                    communicator, kLogMore));
  }
}

/// A process with several ranks of a communicator has as many devices, whether they are named or not. Which is which in
/// its other communicators, nobody knows then.
void NcclJob::tell_devices_apart() {
  std::map<std::pair<Place, std::string>, uint32_t> met;
  std::set<uint32_t> unclear;
  for (const NcclMember& member : members_) {
    if (met[{place_of(member), member.communicator}]++ > 0) unclear.insert(member.process);
  }
  std::map<uint32_t, std::string> communicator_of;
  for (NcclMember& member : members_) {
    if (!unclear.contains(member.process)) continue;
    const auto [known, added] = communicator_of.emplace(member.process, member.communicator);
    if (!added && known->second != member.communicator) {
      fail_input(
          "{}: {} has several ranks of communicator {} and is in {} as well, and which device has which rank is not "
          "said; {}",
          member.file, processes_[member.process], known->second, member.communicator, kLogMore);
    }
    member.device = member.rank;
  }
}

void NcclJob::find_communicators() {
  for (uint32_t i = 0; i < members_.size(); ++i) {
    const NcclMember& member = members_[i];
    Communicator& communicator = communicators_[member.communicator];
    if (communicator.ranks == 0) communicator.ranks = member.ranks;
    if (communicator.ranks != member.ranks) {
      fail_input("{}: communicator {} has {} ranks, but {} elsewhere", member.file, member.communicator, member.ranks,
                 communicator.ranks);
    }
    const auto [at, added] = communicator.members.emplace(member.rank, i);
    if (!added) {
      fail_input("{}: rank {} of communicator {} is {} as well as {}: are these logs of one run? Otherwise, {}",
                 member.file, member.rank, member.communicator, processes_[members_[at->second].process],
                 processes_[member.process], kLogMore);
    }
  }
}

/// The ranks of the run.
void NcclJob::number_ranks(Conversion& conversion) {
  std::set<Place> places;
  for (const NcclMember& member : members_) places.insert(place_of(member));
  const auto largest =
      std::ranges::max_element(communicators_, {}, [](const auto& entry) { return entry.second.ranks; });
  for (const auto& [rank, member] : largest->second.members) {
    rank_of_.emplace(place_of(members_[member]), static_cast<uint32_t>(rank));
  }
  ranks_ = static_cast<uint32_t>(largest->second.ranks);
  if (std::ranges::any_of(places, [&](const Place& place) { return !rank_of_.contains(place); })) {
    std::vector<Place> order(places.begin(), places.end());
    std::ranges::stable_sort(order, [&](const Place& a, const Place& b) { return comes_before(a, b); });
    rank_of_.clear();
    for (uint32_t rank = 0; rank < order.size(); ++rank) rank_of_[order[rank]] = rank;
    ranks_ = static_cast<uint32_t>(order.size());
    conversion.assumptions.push_back(fmt::format(
        "ranks have the order of hosts, devices and processes, for no communicator has all {} of them", ranks_));
  }
  for (auto& [name, communicator] : communicators_) {
    communicator.run_ranks.assign(static_cast<size_t>(communicator.ranks), -1);
    for (const auto& [rank, member] : communicator.members) {
      communicator.run_ranks[static_cast<size_t>(rank)] = rank_of_.at(place_of(members_[member]));
    }
  }
  // Who is not in the logs is known of the communicator that gives the ranks.
  if (largest->second.ranks == ranks_) largest->second.run_ranks = all_ranks(ranks_);
}

/// Groups are numbered in the order in which their communicators were met.
void NcclJob::name_groups() {
  uint32_t number = 0;
  for (const NcclMember& member : members_) {
    Communicator& communicator = communicators_.at(member.communicator);
    if (communicator.name.empty()) communicator.name = std::to_string(number++);
  }
  for (const NcclCall& call : calls_) {
    const NcclMember& member = members_[call.member];
    const Communicator& communicator = communicators_.at(member.communicator);
    const auto unknown = std::ranges::find(communicator.run_ranks, -1);
    if (unknown == communicator.run_ranks.end()) continue;
    fail_input("{}: {} calls {} in communicator {}, of whose {} members no log has rank {}: give the logs of all ranks",
               member.file, processes_[member.process], nccl_name(call.kind), member.communicator, communicator.ranks,
               unknown - communicator.run_ranks.begin());
  }
}

PytorchCall NcclJob::recorded(const NcclCall& call) const {
  const Communicator& communicator = communicators_.at(members_[call.member].communicator);
  PytorchCall recorded{.kind = call.kind, .group = communicator.name, .rank = call.root};
  recorded.members = communicator.ranks;
  // NCCL's count is that of the smaller side, of one member.
  // All of a size that no trace may have stays too large.
  const Bytes one(call.bytes), all(std::min(call.bytes, INT64_MAX / communicator.ranks) * communicator.ranks);
  const bool all_in = call.kind == ActionKind::kReduceScatter || call.kind == ActionKind::kAllToAll;
  const bool all_out = call.kind == ActionKind::kAllGather || call.kind == ActionKind::kAllToAll;
  recorded.input = all_in ? all : one;
  recorded.output = all_out ? all : one;
  return recorded;
}

std::vector<ProcessGroup> NcclJob::groups_of(std::span<const NcclCall> calls) const {
  std::vector<ProcessGroup> groups;
  std::set<std::string> seen;
  for (const NcclCall& call : calls) {
    const Communicator& communicator = communicators_.at(members_[call.member].communicator);
    if (seen.insert(communicator.name).second) groups.push_back({communicator.name, communicator.run_ranks});
  }
  return groups;
}

void NcclJob::write_rank(const RecordedRank& rank, std::span<const NcclCall> calls, NodeWriter& writer) const {
  const std::string path = calls.empty() ? "" : members_[calls.front().member].file;
  CallWriter nodes({.path = path, .rank = rank.rank, .world_size = ranks_, .groups = rank.groups}, writer);
  nodes.write_groups();
  std::unordered_map<uint32_t, NodeWriter::Id> last;  // by chain
  for (size_t i = 0; i < calls.size();) {
    size_t end = i + 1;
    while (end < calls.size() && calls[end].group != 0 && calls[end].group == calls[i].group &&
           calls[end].chain == calls[i].chain && calls[end].member == calls[i].member) {
      ++end;
    }
    std::vector<PytorchCall> batch;
    for (size_t call = i; call < end; ++call) batch.push_back(recorded(calls[call]));
    std::vector<const PytorchCall*> parts;
    for (const PytorchCall& call : batch) parts.push_back(&call);
    CallWriter::Ids after;
    if (const auto before = last.find(calls[i].chain); before != last.end()) after.push_back(before->second);
    const char* const name = parts.size() == 1 ? nccl_name(calls[i].kind) : "group of calls";
    last[calls[i].chain] = nodes.write_batch(parts, name, {calls[i].micros}, calls[i].chain, after);
    i = end;
  }
  // A trace without nodes would not be read.
  if (calls.empty()) writer.compute("idle", 0, 0, Bytes(0), {});
}

void NcclJob::write(Conversion& conversion, ConversionProgress& progress, const FillOptions& options) {
  number_members(conversion);
  tell_devices_apart();
  find_communicators();
  number_ranks(conversion);
  name_groups();
  std::vector<uint32_t> rank_of_member(members_.size());
  for (uint32_t i = 0; i < members_.size(); ++i) rank_of_member[i] = rank_of_.at(place_of(members_[i]));
  const auto rank_of = [&](const NcclCall& call) { return rank_of_member[call.member]; };
  std::ranges::stable_sort(calls_, {}, rank_of);
  std::set<uint32_t> ranks;
  for (const auto& [place, rank] : rank_of_) ranks.insert(rank);
  progress.total = ranks.size();
  std::vector<RecordedRank> recorded;
  auto next = calls_.begin();
  for (const uint32_t rank : ranks) {
    const auto end = std::ranges::upper_bound(next, calls_.end(), rank, {}, rank_of);
    const std::span<const NcclCall> calls(next, end);
    next = end;
    recorded.push_back({.rank = rank, .groups = groups_of(calls)});
    NodeWriter writer(trace_file(conversion.prefix, rank));
    write_rank(recorded.back(), calls, writer);
    conversion.add(writer);
    ++progress.done;
  }
  complete_ranks(recorded, ranks_, options, conversion);
}

}  // namespace rankwire
