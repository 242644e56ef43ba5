#include "dataplane/protocol/nic_profile.h"

#include <gtest/gtest.h>

#include <string>

namespace rankwire {
namespace {

TEST(NicProfile, IsFoundByItsName) {
  for (const char* const name : {"rankwire", "mlx5", "rxe"}) {
    ASSERT_TRUE(find_nic_profile(name).has_value()) << name;
    EXPECT_EQ(find_nic_profile(name)->name, name);
    EXPECT_NE(std::string(nic_profile_names()).find(name), std::string::npos);
  }
  EXPECT_FALSE(find_nic_profile("mlx").has_value());
}

TEST(NicProfile, SoftRoceIsAsOnTheWire) {
  // Captures of Linux 6.1: M bit 0, not ECN capable, one ACK for every packet with AckReq.
  const NicProfile rxe = find_nic_profile("rxe").value();
  EXPECT_EQ(rxe.migration, Migration::kArmed);
  EXPECT_EQ(rxe.data_ecn, Ecn::kNotCapable);
  EXPECT_EQ(responder_options(rxe, 1024).requests_per_ack, 1);
  const ReliableOptions options = reliable_options(rxe, 1024);
  EXPECT_EQ(options.window, 128u);
  EXPECT_EQ(options.retry_count, kUnlimitedRetries);
  EXPECT_EQ(options.timeout, ack_timeout(14));
  EXPECT_EQ(options.early.count, 0u);
}

TEST(NicProfile, RetryCountsBelowSevenAreThemselves) {
  NicProfile profile = find_nic_profile("rxe").value();
  profile.retry_count = 6;
  profile.not_ready_retry_count = 6;
  EXPECT_EQ(reliable_options(profile, 1024).retry_count, 6u);
  EXPECT_EQ(reliable_options(profile, 1024).not_ready_retry_count, 6u);
  // rnr_retry 7 is unlimited by the specification, retry_cnt 7 is not.
  EXPECT_EQ(reliable_options(NicProfile(), 1024).retry_count, 7u);
  EXPECT_EQ(reliable_options(NicProfile(), 1024).not_ready_retry_count, kUnlimitedRetries);
}

TEST(NicProfile, EarlyTimeoutsFitIntoARegularOne) {
  // Waits of 8.6, 16.6, 33.7, 67, 100, 201, 537, 805, 2148 and 4295 ms: six last 426.9 ms, seven 963.9 ms. The regular
  // one is 536.9 ms up to exponent 16 and doubles with each: 1073.7 ms, ..., 8589.9 ms at 20 (all ten: 8211.9 ms).
  NicProfile profile = find_nic_profile("mlx5").value();
  const uint32_t expected[][2] = {{1, 6}, {14, 6}, {16, 6}, {17, 7}, {18, 8}, {19, 9}, {20, 10}, {31, 10}};
  for (const auto& [exponent, count] : expected) {
    profile.timeout_exponent = exponent;
    EXPECT_EQ(reliable_options(profile, 1024).early.count, count) << exponent;
  }
  profile.timeout_exponent = 14;
  EXPECT_EQ(reliable_options(profile, 1024).timeout, ack_timeout(17));  // 2 x 4.096 us x 2^16
}

TEST(NicProfile, NoTimeout) {
  NicProfile profile;
  profile.timeout_exponent = 0;
  EXPECT_EQ(reliable_options(profile, 1024).timeout, Duration::max());
}

}  // namespace
}  // namespace rankwire
