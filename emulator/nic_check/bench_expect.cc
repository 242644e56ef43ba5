// What a case expects of the NIC.
#include <fmt/format.h>

#include <algorithm>

#include "dataplane/wire/opcode_name.h"
#include "emulator/nic_check/bench.h"

namespace rankwire {
namespace {

std::string said_by(const ParsedPacket& packet) {
  if (packet.opcode != Opcode::kAcknowledge) return fmt::format("opcode 0x{:02X}", static_cast<uint8_t>(packet.opcode));
  switch (packet.syndrome & kSyndromeTypeMask) {
    case kSyndromeTypeAck:
      return fmt::format("an ACK of PSN {}", packet.psn);
    case kSyndromeTypeNotReady:
      return fmt::format("an RNR NAK of PSN {}", packet.psn);
    default:
      return fmt::format("a NAK 0x{:02X} of PSN {}", packet.syndrome, packet.psn);
  }
}

}  // namespace

void NicBench::expect_completion(uint64_t id, WorkStatus status, Duration limit) {
  run_until([&] { return completion(id) != nullptr; }, limit);
  const WorkCompletion* found = completion(id);
  if (found == nullptr)
    fail({}, fmt::format("no completion within {:.6g} ms, expected '{}'", static_cast<double>(limit.ps) / 1e9,
                         to_string(status)));
  if (found->status != status)
    fail({}, fmt::format("the work completed with '{}', expected '{}'", to_string(found->status), to_string(status)));
}

void NicBench::expect_memory(uint32_t offset, const std::vector<uint8_t>& bytes, const std::string& what) {
  if (bytes.empty()) return;
  const std::vector<uint8_t> found = nic_.read_memory(offset, static_cast<uint32_t>(bytes.size()));
  const auto [here, there] = std::ranges::mismatch(found, bytes);
  if (here != found.end())
    fail({}, fmt::format("{}: byte {} of {} is 0x{:02X}, expected 0x{:02X}", what, here - found.begin(), bytes.size(),
                         *here, *there));
}

// Piece by piece, as a driver in another process takes it.
void NicBench::write_pattern(uint32_t offset, uint32_t bytes) {
  for (uint32_t at = 0; at < bytes; at += kSpace)
    nic_.write_memory(offset + at, pattern_bytes(std::min(kSpace, bytes - at), at));
  forgive_absence();
}

void NicBench::expect_pattern(uint32_t offset, uint32_t bytes, const std::string& what) {
  for (uint32_t at = 0; at < bytes; at += kSpace)
    expect_memory(offset + at, pattern_bytes(std::min(kSpace, bytes - at), at),
                  at == 0 ? what : fmt::format("{}, from byte {} on", what, at));
}

std::optional<size_t> NicBench::answer(const PeerEnd& end, size_t from, Duration limit) {
  std::vector<size_t> found;
  run_until(
      [&] {
        found = answers(end, from);
        return !found.empty();
      },
      limit);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

size_t NicBench::expect_ack(const PeerEnd& end, size_t from, uint32_t psn, std::optional<uint32_t> msn) {
  // One that acknowledges less may come first.
  const auto is_it = [&](size_t i) {
    const ParsedPacket& p = packet(i);
    return p.opcode == Opcode::kAcknowledge && (p.syndrome & kSyndromeTypeMask) == kSyndromeTypeAck && p.psn == psn;
  };
  std::optional<size_t> found;
  run_until(
      [&] {
        for (const size_t i : answers(end, from)) {
          if (!is_it(i) && (packet(i).syndrome & kSyndromeTypeMask) == kSyndromeTypeAck) continue;
          found = i;
          return true;
        }
        return false;
      },
      limits().answer);
  if (!found) fail({}, fmt::format("no ACK of PSN {} within the limit", psn));
  require(is_it(*found), found, fmt::format("{} came, expected an ACK of PSN {}", said_by(packet(*found)), psn));
  require(frame(*found).icrc_good, found, "the ACK has a wrong ICRC");
  if (msn)
    require(packet(*found).msn == *msn, found,
            fmt::format("the ACK has MSN {}, expected {}", packet(*found).msn, *msn));
  log_.mark(*found, fmt::format("ACK of PSN {}", psn));
  return *found;
}

size_t NicBench::expect_nak(const PeerEnd& end, size_t from, Syndrome syndrome, uint32_t psn) {
  const auto wanted = static_cast<uint8_t>(syndrome);
  const bool not_ready = syndrome == Syndrome::kNakNotReady;
  std::optional<size_t> found;
  run_until(
      [&] {
        for (const size_t i : answers(end, from)) {
          if (packet(i).opcode == Opcode::kAcknowledge &&
              (packet(i).syndrome & kSyndromeTypeMask) == kSyndromeTypeAck && packet(i).psn != psn)
            continue;
          found = i;
          return true;
        }
        return false;
      },
      limits().answer);
  if (!found) fail({}, fmt::format("no NAK 0x{:02X} of PSN {} within the limit", wanted, psn));
  const ParsedPacket& p = packet(*found);
  const bool right = p.opcode == Opcode::kAcknowledge && p.psn == psn &&
                     (not_ready ? (p.syndrome & kSyndromeTypeMask) == kSyndromeTypeNotReady : p.syndrome == wanted);
  require(right, found, fmt::format("{} came, expected a NAK 0x{:02X} of PSN {}", said_by(p), wanted, psn));
  require(frame(*found).icrc_good, found, "the NAK has a wrong ICRC");
  log_.mark(*found, fmt::format("NAK 0x{:02X} of PSN {}", p.syndrome, psn));
  return *found;
}

void NicBench::expect_silence(const PeerEnd& end, size_t from, const std::string& why) {
  const std::optional<size_t> found = answer(end, from, limits().quiet);
  if (found) fail(found, fmt::format("{} came, expected none: {}", said_by(packet(*found)), why));
}

void NicBench::expect_alive(PeerEnd& end) {
  const size_t from = log_.size();
  const uint32_t psn = end.next_psn;
  send(end, {.payload = pattern_bytes(64, 5)});
  expect_ack(end, from, psn);
  expect_memory(kTarget, pattern_bytes(64, 5), "a WRITE afterwards");
}

}  // namespace rankwire
