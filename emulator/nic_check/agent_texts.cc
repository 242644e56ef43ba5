#include "emulator/nic_check/agent_texts.h"

#include <algorithm>

#include "base/error.h"

namespace rankwire {
namespace {

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  fail_input("'{}' is no hexadecimal digit", c);
}

template <class T>
T bounded(const AgentJson& json, const char* key, uint64_t most) {
  const uint64_t value = json.at(key);
  if (value > most) fail_input("{}: {} is more than {}", key, value, most);
  return static_cast<T>(value);
}

}  // namespace

std::string hex_of(std::span<const uint8_t> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<uint8_t> bytes_of(const std::string& hex) {
  if (hex.size() % 2 != 0) fail_input("an odd number of hexadecimal digits");
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(digit_of(hex[2 * i]) << 4 | digit_of(hex[2 * i + 1]));
  return bytes;
}

AgentJson json_of(const QueuePairPath& path) {
  return {{"remote_gid", hex_of(path.remote_gid.bytes)},
          {"remote_queue_pair", path.remote_queue_pair},
          {"remote_psn", path.remote_psn},
          {"local_psn", path.local_psn},
          {"mtu", path.mtu},
          {"traffic_class", path.traffic_class},
          {"hop_limit", path.hop_limit},
          {"timeout_exponent", path.timeout_exponent},
          {"retry_count", path.retry_count},
          {"not_ready_retry_count", path.not_ready_retry_count},
          {"not_ready_code", path.not_ready_code},
          {"initiated_reads", path.initiated_reads},
          {"answered_reads", path.answered_reads}};
}

QueuePairPath path_of(const AgentJson& json) {
  QueuePairPath path;
  const std::vector<uint8_t> gid = bytes_of(json.at("remote_gid"));
  if (gid.size() != path.remote_gid.bytes.size()) fail_input("remote_gid: 16 bytes are expected");
  std::ranges::copy(gid, path.remote_gid.bytes.begin());
  path.remote_queue_pair = bounded<uint32_t>(json, "remote_queue_pair", 0xFFFFFF);
  path.remote_psn = bounded<uint32_t>(json, "remote_psn", 0xFFFFFF);
  path.local_psn = bounded<uint32_t>(json, "local_psn", 0xFFFFFF);
  path.mtu = bounded<uint32_t>(json, "mtu", 4096);
  if (path.mtu < 256 || (path.mtu & (path.mtu - 1)) != 0) fail_input("mtu: {} is no path MTU", path.mtu);
  path.traffic_class = bounded<uint8_t>(json, "traffic_class", 255);
  path.hop_limit = bounded<uint8_t>(json, "hop_limit", 255);
  path.timeout_exponent = bounded<uint8_t>(json, "timeout_exponent", 31);
  path.retry_count = bounded<uint8_t>(json, "retry_count", 7);
  path.not_ready_retry_count = bounded<uint8_t>(json, "not_ready_retry_count", 7);
  path.not_ready_code = bounded<uint8_t>(json, "not_ready_code", 31);
  path.initiated_reads = bounded<uint8_t>(json, "initiated_reads", 128);
  path.answered_reads = bounded<uint8_t>(json, "answered_reads", 128);
  return path;
}

}  // namespace rankwire
