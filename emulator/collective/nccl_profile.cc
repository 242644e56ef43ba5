#include "emulator/collective/nccl_profile.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/message.h"

namespace rankwire {
namespace {

constexpr int64_t kGBps = 8'000'000'000;

int64_t in_units_of(Bytes data, int64_t unit) {
  return (data.count + unit - 1) / unit;
}

}  // namespace

uint32_t nccl_channels(Bandwidth nic) {
  return nic.bits_per_second > 45 * kGBps ? 4 : 2;
}

uint32_t nccl_p2p_channels(Bandwidth nic) {
  const int64_t gigabytes = nic.bits_per_second / kGBps;
  const int64_t channels = std::clamp<int64_t>((gigabytes + 13) / 14, 1, MessageId::kMaxChannels);
  return std::bit_ceil(static_cast<uint32_t>(channels));
}

Bytes nccl_message_size(NcclProtocol protocol, Bytes data) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return Bytes(in_units_of(data, 8) * 16);
    case NcclProtocol::kLl128:
      return Bytes(in_units_of(data, 1920) * 2048);
    case NcclProtocol::kAuto:
    case NcclProtocol::kSimple:
      break;
  }
  return data;
}

void validate(const NcclProfile& profile) {
  const auto within = [](const char* name, int64_t value, int64_t least, int64_t most) {
    if (value < least || value > most) fail_input("nccl.{} must be {} .. {}, not {}", name, least, most, value);
  };
  constexpr int64_t kMostChannels = MessageId::kMaxChannels, kLargestBuffer = 1 << 30;
  within("channels", profile.channels, 1, kMostChannels);
  within("p2p_channels", profile.p2p_channels, 1, kMostChannels);
  within("steps_in_flight", profile.steps_in_flight, 1, NcclProfile::kSteps);
  within("buffer", profile.buffer.count, 1 << 16, kLargestBuffer);
  within("p2p_chunk", profile.p2p_chunk.count, 1 << 12, kLargestBuffer);
  if (profile.network.bits_per_second < 1) fail_input("nccl: the network must have a rate");
  if (!std::has_single_bit(profile.p2p_channels))
    fail_input("nccl.p2p_channels must be a power of 2, not {}", profile.p2p_channels);
}

}  // namespace rankwire
