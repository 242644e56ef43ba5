#include "emulator/collective/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace rankwire {
namespace {

constexpr int64_t kGigabyteASecond = 8'000'000'000;

/// By protocol: baseLat, and hwLat of NVLink and of the network.
struct Latencies {
  Duration base, inside, between;
};

Latencies tree_latencies(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return {nanoseconds(6'800), nanoseconds(600), nanoseconds(5'000)};
    case NcclProtocol::kLl128:
      return {nanoseconds(14'000), nanoseconds(1'250), nanoseconds(8'500)};
    case NcclProtocol::kAuto:
    case NcclProtocol::kSimple:
      break;
  }
  return {nanoseconds(8'400), nanoseconds(4'000), nanoseconds(14'000)};
}

/// Tenths by which trees reach their bandwidth at sizes of 64 B, 128 B, ... (treeCorrectionFactor).
constexpr int kTreeTenths[3][23] = {
    {10, 10, 10, 10, 9, 8, 7, 7, 7, 7, 6, 5, 4, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10},
    {10, 10, 10, 10, 10, 9, 8, 8, 8, 7, 6, 6, 6, 6, 6, 6, 8, 9, 9, 9, 9, 10, 10},
    {9, 9, 9, 9, 9, 9, 9, 8, 7, 6, 6, 5, 5, 5, 5, 6, 7, 8, 7, 7, 8, 9, 9},
};

int64_t tree_tenths(Bytes size, NcclProtocol protocol) {
  const int64_t units = size.count / 64;
  if (units == 0) return 10;
  const int64_t place = nccl_log2(units);
  if (place >= int64_t{std::size(kTreeTenths[0])}) return 10;
  return kTreeTenths[protocol == NcclProtocol::kLl ? 0 : protocol == NcclProtocol::kLl128 ? 1 : 2][place];
}

/// Of several hosts (llMaxBws).
int64_t most_of_ll(int64_t nodes) {
  return (nodes <= 2 ? 390 : 204) * kGigabyteASecond / 10;
}

Latencies latencies(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return {nanoseconds(6'600), nanoseconds(600), nanoseconds(2'700)};
    case NcclProtocol::kLl128:
      return {nanoseconds(14'000), nanoseconds(1'900), nanoseconds(4'000)};
    case NcclProtocol::kAuto:
    case NcclProtocol::kSimple:
      break;
  }
  return {nanoseconds(8'400), nanoseconds(3'400), nanoseconds(14'000)};
}

uint32_t nodes_of(const ScheduleRequest& request) {
  return request.nodes == 0 ? request.members : request.nodes;
}

/// Passes a collective makes around the ring: all-reduce scatters and gathers.
int64_t rounds(Operation operation) {
  return operation == Operation::kAllReduce ? 2 : 1;
}

bool is_pipeline(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce;
}

int64_t steps(const ScheduleRequest& request) {
  return is_pipeline(request.operation) ? request.members : rounds(request.operation) * (request.members - 1);
}

Bandwidth bus_bandwidth(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol) {
  const int64_t rate = profile.network.bits_per_second;
  const int64_t nodes = nodes_of(request);
  if (protocol == NcclProtocol::kLl) {
    return Bandwidth(std::min(most_of_ll(nodes), rate / 2));
  }
  if (protocol == NcclProtocol::kLl128) {
    const int64_t most = profile.channels * 367 * kGigabyteASecond / 10;  // perChMaxRingLL128Bws
    return Bandwidth(std::min(most, rate / 100 * 92));
  }
  return profile.network;
}

Duration latency(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol) {
  Latencies l = latencies(protocol);
  const int64_t nodes = nodes_of(request);
  if (is_pipeline(request.operation)) return l.base + (nodes > 1 ? l.between : l.inside);
  // One rank a node: "latencies are fully exposed, use the Tree network latency".
  if (request.members == nodes) l.between = tree_latencies(protocol).between;
  // Every step of a ring between nodes posts to the network: 1 us, and three posts a step in protocol Simple.
  const Duration post = nodes == 1 ? Duration() : microseconds(protocol == NcclProtocol::kSimple ? 3 : 1);
  const int64_t between = rounds(request.operation) * (nodes - 1);
  const Duration sum = l.base + std::max(l.inside, post) * (steps(request) - between) + l.between * between;
  // NCCL's correction for "the plateau effect of ring".
  const bool plateau = protocol == NcclProtocol::kSimple && nodes > 1 && request.operation == Operation::kAllReduce &&
                       request.bytes.count / (int64_t{profile.channels} * request.members) >= 64;
  return plateau ? Duration(sum.ps / 10 * 14) : sum;
}

}  // namespace

Bytes nccl_operation_size(const ScheduleRequest& request) {
  return request.operation == Operation::kAllGather ? Bytes(request.bytes.count * request.members) : request.bytes;
}

Duration nccl_ring_time(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol) {
  const int64_t share = (nccl_operation_size(request).count + request.members - 1) / request.members;
  return latency(request, profile, protocol) +
         serialization_time(Bytes(share * steps(request)), bus_bandwidth(request, profile, protocol));
}

Duration nccl_tree_time(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol) {
  const int64_t nodes = nodes_of(request), rate = profile.network.bits_per_second, channels = profile.channels;
  const auto a_channel = [&](int64_t one, int64_t two, int64_t more) {
    return channels * (nodes == 1 ? one : nodes == 2 ? two : more) * kGigabyteASecond / 10;
  };
  int64_t bus = std::min(rate / 100 * 92, a_channel(387, 414, 360));  // perChMaxTreeBws
  if (protocol == NcclProtocol::kLl) bus = std::min(bus * 10 / 38, most_of_ll(nodes));
  if (protocol == NcclProtocol::kLl128)  // perChMaxTreeLL128Bws
    bus = std::min(nodes == 1 ? bus / 9 * 7 : bus / 128 * 120, a_channel(367, 367, 290));
  if (request.members <= nodes) bus = bus / 100 * 85;
  const Bytes size = nccl_operation_size(request);
  const Bandwidth reached(std::max<int64_t>(bus / 2 / 10 * tree_tenths(size, protocol), 1));
  const Latencies l = tree_latencies(protocol);
  const Duration way = l.inside * (request.members / nodes - 1) + l.between * nccl_log2(nodes);
  return l.base + way * 2 + serialization_time(size, reached);
}

Duration nccl_pat_time(const ScheduleRequest& request, const NcclProfile& profile) {
  // 14 us of the network in protocol Simple, divided by 3.5, and "still a linear part".
  const Duration way = microseconds(4) * nccl_log2(nodes_of(request)) + nanoseconds(2'800) * request.members;
  const Bandwidth reached(std::max<int64_t>(profile.network.bits_per_second / 100 * 75, 1));
  return microseconds(8) + way + serialization_time(nccl_operation_size(request), reached);
}

bool nccl_has_pat(const ScheduleRequest& request, const NcclProfile& profile) {
  const bool scatters = request.operation == Operation::kReduceScatter;
  return (scatters || request.operation == Operation::kAllGather) && nodes_of(request) == request.members &&
         (profile.protocol == NcclProtocol::kAuto || profile.protocol == NcclProtocol::kSimple);
}

NcclProtocol nccl_ring_protocol(const ScheduleRequest& request, const NcclProfile& profile) {
  return nccl_choice(request, profile, Algorithm::kRing).protocol;
}

NcclChoice nccl_choice(const ScheduleRequest& request, const NcclProfile& profile, Algorithm told) {
  std::vector<NcclProtocol> protocols{NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple};
  if (profile.protocol != NcclProtocol::kAuto) protocols = {profile.protocol};
  const bool trees = request.operation == Operation::kAllReduce && told != Algorithm::kRing;
  const bool pat = told != Algorithm::kRing && nccl_has_pat(request, profile);
  const bool rings = told != Algorithm::kDoubleBinaryTree && !(pat && told == Algorithm::kPat);
  std::vector<NcclChoice> choices;
  for (const NcclProtocol protocol : protocols)
    if (rings) choices.push_back({Algorithm::kRing, protocol});
  for (const NcclProtocol protocol : protocols)
    if (trees) choices.push_back({Algorithm::kDoubleBinaryTree, protocol});
  if (pat) choices.push_back({Algorithm::kPat, NcclProtocol::kSimple});
  if (request.members == 1) return choices.front();
  const auto time = [&](const NcclChoice& choice) {
    if (choice.algorithm == Algorithm::kPat) return nccl_pat_time(request, profile);
    return choice.algorithm == Algorithm::kRing ? nccl_ring_time(request, profile, choice.protocol)
                                                : nccl_tree_time(request, profile, choice.protocol);
  };
  return *std::ranges::min_element(choices, {}, time);
}

int64_t nccl_log2(int64_t number) {
  return std::bit_width(static_cast<uint64_t>(number)) - 1;
}

}  // namespace rankwire
