#include "emulator/collective/nccl_tuning.h"

#include <algorithm>

namespace rankwire {
namespace {

constexpr int64_t kGigabyteASecond = 8'000'000'000;

/// By protocol: baseLat, and hwLat of NVLink and of the network, for rings.
struct Latencies {
  Duration base, inside, between;
};

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
    const int64_t most = (nodes <= 2 ? 390 : 204) * kGigabyteASecond / 10;  // llMaxBws
    return Bandwidth(std::min(most, rate / 2));
  }
  if (protocol == NcclProtocol::kLl128) {
    const int64_t most = profile.channels * 367 * kGigabyteASecond / 10;  // perChMaxRingLL128Bws
    return Bandwidth(std::min(most, rate / 100 * (request.members < 2 * nodes ? 70 : 92)));
  }
  return profile.network;
}

Duration latency(const ScheduleRequest& request, const NcclProfile& profile, NcclProtocol protocol) {
  const Latencies l = latencies(protocol);
  const int64_t nodes = nodes_of(request);
  if (is_pipeline(request.operation)) return l.base + (nodes > 1 ? l.between : l.inside);
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

NcclProtocol nccl_ring_protocol(const ScheduleRequest& request, const NcclProfile& profile) {
  if (profile.protocol != NcclProtocol::kAuto) return profile.protocol;
  const auto time = [&](NcclProtocol protocol) { return nccl_ring_time(request, profile, protocol); };
  return std::min({NcclProtocol::kLl, NcclProtocol::kLl128, NcclProtocol::kSimple},
                  [&](NcclProtocol a, NcclProtocol b) { return time(a) < time(b); });
}

}  // namespace rankwire
