#include "emulator/peer/perftest_protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <string>

#include "base/error.h"

namespace rankwire {
namespace {

// Newer ones negotiate parameters first unless the other end is older than 6.28 (perftest_negotiation.c).
constexpr std::string_view kOurVersion = "6.06";
// Older ones are no longer spoken to by perftest itself (check_version_compatibility).
constexpr double kOldestVersion = 5.70;

// The fields of the keys in front of the GID: hexadecimal digits, then a colon each.
constexpr size_t kDigits[] = {4, 4, 6, 6, 8, 16};
constexpr size_t kGidAt = 50;  // their sum and six colons
constexpr size_t kGidBytes = 16;
constexpr size_t kReceiveQueueAt = kGidAt + 3 * kGidBytes;
constexpr size_t kKeysWithoutGidBytes = 59;
constexpr size_t kReportFields = 5;  // message size, iterations, peak and average bandwidth, 10^6 messages a second

// What a stranger sent, in a form fit for one line.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c <= '~' ? c : '.';
  return shown;
}

template <class Number>
std::optional<Number> hexadecimal(std::string_view digits) {
  Number number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  // from_chars takes a sign of signed types only, and no prefix.
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

uint64_t big_endian(std::string_view bytes) {
  uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

void check_version(std::string_view field) {
  const std::string_view text = field.substr(0, field.find('\0'));
  double version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version, std::chars_format::fixed);
  // Not even "nan", which from_chars takes, begins with a digit.
  if (error != std::errc() || end != text.data() + text.size() || text[0] < '0' || text[0] > '9')
    fail_run("'{}' is no version of perftest: what has connected is no perftest client", printable(field));
  if (version < kOldestVersion)
    fail_run("perftest {} is older than {:.2f}, the oldest that is spoken", printable(text), kOldestVersion);
}

uint32_t mtu_of(std::string_view field) {
  const std::string_view text = field.substr(0, field.find('\0'));
  if (text.size() != 1 || text[0] < '1' || text[0] > '5')
    fail_run("'{}' is no path MTU: 1 (256) to 5 (4096) is expected", printable(text));
  return 128u << (text[0] - '0');
}

// "f:f:f:f:f:f:" and GID, in hexadecimal of fixed width; nothing where a digit or a colon is out of place.
std::optional<PerftestKeys> parse_keys(std::string_view text) {
  uint64_t numbers[std::size(kDigits)];
  size_t at = 0;
  for (size_t i = 0; i < std::size(kDigits); ++i) {
    const std::optional<uint64_t> number = hexadecimal<uint64_t>(text.substr(at, kDigits[i]));
    at += kDigits[i];
    if (!number || text[at++] != ':') return std::nullopt;
    numbers[i] = *number;
  }
  PerftestKeys keys{.lid = static_cast<uint16_t>(numbers[0]),
                    .outstanding_reads = static_cast<uint16_t>(numbers[1]),
                    .queue_pair = static_cast<uint32_t>(numbers[2]),
                    .psn = static_cast<uint32_t>(numbers[3]),
                    .rkey = static_cast<uint32_t>(numbers[4]),
                    .address = numbers[5]};
  for (uint8_t& byte : keys.gid.bytes) {
    const std::optional<uint8_t> number = hexadecimal<uint8_t>(text.substr(at, 2));
    if (!number || text[at + 2] != ':') return std::nullopt;
    byte = *number;
    at += 3;
  }
  const std::optional<uint32_t> receive_queue = hexadecimal<uint32_t>(text.substr(kReceiveQueueAt, 8));
  if (!receive_queue || text[kReceiveQueueAt + 8] != ':' || text.back() != '\0') return std::nullopt;
  keys.shared_receive_queue = *receive_queue;
  return keys;
}

// Keys of other forms than ours. The shorter would be waited for in vain.
void refuse_other_keys(std::string_view received) {
  if (received.size() >= kKeysWithoutGidBytes && received[kKeysWithoutGidBytes - 1] == '\0')
    fail_run("the client names no GID: its port is InfiniBand, or it needs the option -x");
  constexpr size_t kSecondAddressEnd = kGidAt + 16;
  if (received.size() > kSecondAddressEnd && received[kGidAt + 2] != ':' && received[kSecondAddressEnd] == ':')
    fail_run("the client names a second address: data validation is not spoken");
}

template <size_t Bytes>
std::array<char, Bytes> padded(std::string_view text) {
  std::array<char, Bytes> field{};
  std::copy_n(text.begin(), std::min(text.size(), Bytes), field.begin());
  return field;
}

}  // namespace

std::optional<PerftestMessage> PerftestReader::next(std::string_view received) {
  using Kind = PerftestMessage::Kind;
  const auto begins_with = [&](size_t bytes) { return received.size() >= bytes; };
  switch (stage_) {
    case Stage::kVersion:
      if (!begins_with(kPerftestVersionBytes)) return std::nullopt;
      check_version(received.substr(0, kPerftestVersionBytes));
      stage_ = Stage::kBufferGranularity;
      return PerftestMessage{.kind = Kind::kVersion, .bytes = kPerftestVersionBytes};
    case Stage::kBufferGranularity:
    case Stage::kCacheLine: {
      if (!begins_with(4)) return std::nullopt;
      const bool first = stage_ == Stage::kBufferGranularity;
      stage_ = first ? Stage::kCacheLine : Stage::kMtu;
      return PerftestMessage{.kind = first ? Kind::kBufferGranularity : Kind::kCacheLine,
                             .bytes = 4,
                             .number = static_cast<uint32_t>(big_endian(received.substr(0, 4)))};
    }
    case Stage::kMtu:
      if (!begins_with(2)) return std::nullopt;
      stage_ = Stage::kKeysOrReport;
      return PerftestMessage{.kind = Kind::kMtu, .bytes = 2, .number = mtu_of(received.substr(0, 2))};
    case Stage::kKeysOrReport:
      if (received.empty()) return std::nullopt;
      // Keys begin with a digit; a report with the most significant byte of a message size below 2^56.
      return received[0] == '\0' ? report_field(received) : keys(received);
    case Stage::kReport:
      return report_field(received);
  }
  return std::nullopt;
}

std::optional<PerftestMessage> PerftestReader::keys(std::string_view received) const {
  refuse_other_keys(received);
  if (received.size() < kPerftestKeysBytes) return std::nullopt;
  const std::optional<PerftestKeys> keys = parse_keys(received.substr(0, kPerftestKeysBytes));
  if (!keys) fail_run("the client's keys '{}' are not readable", printable(received));
  return PerftestMessage{.kind = PerftestMessage::Kind::kKeys, .bytes = kPerftestKeysBytes, .keys = *keys};
}

std::optional<PerftestMessage> PerftestReader::report_field(std::string_view received) {
  if (received.size() < 8) return std::nullopt;
  stage_ = Stage::kReport;
  const uint64_t number = big_endian(received.substr(0, 8));
  if (report_field_ == 0) partial_.message_bytes = number;
  if (report_field_ == 1) partial_.iterations = number;
  if (report_field_ == 4) partial_.messages_per_second = std::bit_cast<double>(number) * 1e6;
  if (++report_field_ == kReportFields) {
    report_ = partial_;
    report_field_ = 0;
    stage_ = Stage::kKeysOrReport;
  }
  return PerftestMessage{.kind = PerftestMessage::Kind::kReportField, .bytes = 8};
}

const char* PerftestReader::expects() const {
  switch (stage_) {
    case Stage::kVersion:
      return "its version";
    case Stage::kBufferGranularity:
    case Stage::kCacheLine:
      return "the sizes of its buffers";
    case Stage::kMtu:
      return "its path MTU";
    case Stage::kKeysOrReport:
      return "the keys of a queue pair or a report";
    case Stage::kReport:
      return "the rest of a report";
  }
  return "";
}

std::array<char, kPerftestVersionBytes> format_perftest_version() {
  return padded<kPerftestVersionBytes>(kOurVersion);
}

std::array<char, 4> format_perftest_number(uint32_t number) {
  std::array<char, 4> field;
  for (size_t i = 0; i < 4; ++i) field[i] = static_cast<char>(number >> (24 - 8 * i));
  return field;
}

std::array<char, 2> format_perftest_mtu(uint32_t mtu) {
  return {static_cast<char>('0' + std::bit_width(mtu) - 8), '\0'};
}

std::array<char, kPerftestKeysBytes> format_perftest_keys(const PerftestKeys& keys) {
  std::string text = fmt::format("{:04x}:{:04x}:{:06x}:{:06x}:{:08x}:{:016x}:", keys.lid, keys.outstanding_reads,
                                 keys.queue_pair, keys.psn, keys.rkey, keys.address);
  for (const uint8_t byte : keys.gid.bytes) text += fmt::format("{:02x}:", byte);
  text += fmt::format("{:08x}:", keys.shared_receive_queue);
  return padded<kPerftestKeysBytes>(text);
}

}  // namespace rankwire
