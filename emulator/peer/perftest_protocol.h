// What the perftest tools (ib_write_bw and its like) say to each other over TCP, from the server's side: parsing and
// formatting without a socket. As versions 5.70 to 6.27 speak it, without rdma_cm and without data validation
// (linux-rdma/perftest src/perftest_communication.c; compared with the bytes of 6.06).
//
// The client speaks first, every message is answered by one of the same length: its version; the granularity of its
// buffers; its cache line; its path MTU; then, in an order that depends on the tool, the keys of one queue pair each,
// and for most bandwidth tests a report of five numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/address.h"

namespace rankwire {

/// What an end tells of one of its queue pairs.
struct PerftestKeys {
  uint16_t lid = 0;                ///< of InfiniBand; 0 in RoCE
  uint16_t outstanding_reads = 1;  ///< RDMA READs and atomics that the other end may have outstanding
  uint32_t queue_pair = 0;         ///< 24 bits
  uint32_t psn = 0;                ///< 24 bits, the first that this end sends with
  uint32_t rkey = 0;               ///< 0: no memory, as the SEND tests have it
  uint64_t address = 0;            ///< of the memory that the other end may write or read
  IpAddress gid;
  uint32_t shared_receive_queue = 0;

  bool operator==(const PerftestKeys&) const = default;
};

/// What a client measured in the last message size that it ran.
struct PerftestReport {
  uint64_t message_bytes = 0;
  uint64_t iterations = 0;         ///< of all its queue pairs
  double messages_per_second = 0;  ///< on average

  /// Bytes a second. The report's own figure for it is in MiB or in Gbit, and does not say in which.
  double bandwidth() const { return static_cast<double>(message_bytes) * messages_per_second; }
};

struct PerftestMessage {
  enum class Kind : uint8_t { kVersion, kBufferGranularity, kCacheLine, kMtu, kKeys, kReportField };

  Kind kind = Kind::kVersion;
  size_t bytes = 0;     ///< that it takes
  uint32_t number = 0;  ///< kBufferGranularity, kCacheLine in bytes; kMtu in bytes
  PerftestKeys keys;    ///< kKeys
};

constexpr size_t kPerftestVersionBytes = 16;
constexpr size_t kPerftestKeysBytes = 108;

/// The client's side of the conversation. After an Error(kRun), which says what is wrong with the client, it is over.
class PerftestReader {
 public:
  /// The message that `received`, which holds all bytes not yet taken, begins with; nothing while it is incomplete.
  std::optional<PerftestMessage> next(std::string_view received);
  /// Once all five numbers have come.
  const std::optional<PerftestReport>& report() const { return report_; }
  /// What is expected next, for the text of an error.
  const char* expects() const;

 private:
  enum class Stage : uint8_t { kVersion, kBufferGranularity, kCacheLine, kMtu, kKeysOrReport, kReport };

  std::optional<PerftestMessage> keys(std::string_view received) const;
  std::optional<PerftestMessage> report_field(std::string_view received);

  Stage stage_ = Stage::kVersion;
  size_t report_field_ = 0;
  PerftestReport partial_;
  std::optional<PerftestReport> report_;
};

/// The answers. The version is one that keeps newer clients from negotiating what is not spoken here.
std::array<char, kPerftestVersionBytes> format_perftest_version();
/// Big-endian.
std::array<char, 4> format_perftest_number(uint32_t number);
/// The number of `mtu` in enum ibv_mtu (256 is 1, 4096 is 5) as text. `mtu` is 256, 512, 1024, 2048 or 4096.
std::array<char, 2> format_perftest_mtu(uint32_t mtu);
std::array<char, kPerftestKeysBytes> format_perftest_keys(const PerftestKeys& keys);
/// Each of the report's five numbers, from an end that measured nothing.
constexpr std::array<char, 8> kPerftestNoMeasurement{};

}  // namespace rankwire
