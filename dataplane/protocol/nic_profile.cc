#include "dataplane/protocol/nic_profile.h"

#include <algorithm>

namespace rankwire {
namespace {

// ConnectX with its factory settings. ACK requests: MLX5_IB_ACK_REQ_FREQ (log2 8) in Linux's mlx5 driver. Time-outs as
// measured on a ConnectX-6, firmware 20.43: early retransmissions, then 2 x 4.096 us x 2^max(t, 16), so that a queue
// pair gives up after retry_count such intervals less 0.1 to 0.4 s.
NicProfile connectx() {
  NicProfile profile;
  profile.name = "mlx5";
  profile.hop_limit = 255;
  profile.window = 512;
  profile.ack_every = 256;
  profile.timeout_factor = 2;
  profile.minimum_exponent = 16;
  constexpr std::array<int64_t, 10> kTenthsOfMilliseconds = {86, 166, 337, 670, 1000, 2010, 5370, 8050, 21480, 42950};
  profile.early.count = kTenthsOfMilliseconds.size();
  for (size_t i = 0; i < kTenthsOfMilliseconds.size(); ++i)
    profile.early.waits[i] = microseconds(100) * kTenthsOfMilliseconds[i];
  profile.withheld_retries = 1;
  profile.requests_per_ack = 16;
  profile.grants_credits = true;
  return profile;
}

// Linux's software NIC: RXE_MAX_UNACKED_PSNS is 128; AckReq on the packet behind RXE_MAX_PKT_PER_ACK = 64 others and
// one (rxe_req.c compares before it counts); one ACK for each; both retry counts of 7 mean no limit (rxe_comp.c).
NicProfile soft_roce() {
  NicProfile profile;
  profile.name = "rxe";
  profile.migration = Migration::kArmed;
  profile.data_ecn = Ecn::kNotCapable;
  profile.window = 128;
  profile.ack_every = 66;
  profile.max_reads = 128;
  profile.max_responder_reads = 128;
  profile.seven_retries_are_unlimited = true;
  profile.requests_per_ack = 1;
  return profile;
}

Duration regular_timeout(const NicProfile& profile) {
  if (profile.timeout_exponent == 0) return Duration::max();
  return ack_timeout(std::max(profile.timeout_exponent, profile.minimum_exponent)) * profile.timeout_factor;
}

EarlyTimeouts early_timeouts(const NicProfile& profile, Duration regular) {
  EarlyTimeouts early = profile.early;
  Duration sum;
  early.count = 0;
  while (early.count < profile.early.count && sum + early.waits[early.count] <= regular)
    sum += early.waits[early.count++];
  return early;
}

}  // namespace

std::optional<NicProfile> find_nic_profile(std::string_view name) {
  for (const NicProfile& profile : {NicProfile(), connectx(), soft_roce()})
    if (profile.name == name) return profile;
  return std::nullopt;
}

std::string_view nic_profile_names() {
  return "rankwire, mlx5, rxe";
}

ReliableOptions reliable_options(const NicProfile& profile, uint32_t mtu) {
  const Duration regular = regular_timeout(profile);
  const bool unlimited = profile.seven_retries_are_unlimited && profile.retry_count == 7;
  return {
      .mtu = mtu,
      .window = profile.window,
      .ack_every = profile.ack_every,
      .retry_count = unlimited ? kUnlimitedRetries : profile.retry_count,
      .timeout = regular,
      .early = early_timeouts(profile, regular),
      .withheld_retries = profile.withheld_retries,
      .not_ready_retry_count = profile.not_ready_retry_count == 7 ? kUnlimitedRetries : profile.not_ready_retry_count,
      .max_reads = profile.max_reads};
}

ResponderOptions responder_options(const NicProfile& profile, uint32_t mtu) {
  return {.mtu = mtu, .not_ready_code = profile.not_ready_code, .requests_per_ack = profile.requests_per_ack};
}

}  // namespace rankwire
