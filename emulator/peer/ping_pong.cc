#include "emulator/peer/ping_pong.h"

#include "base/error.h"

namespace rankwire {
namespace {

uint8_t last_byte(const MessageId& id, Bytes bytes) {
  const auto last = static_cast<uint64_t>(bytes.count - 1);
  return static_cast<uint8_t>(payload_word(payload_key(id), last / 8) >> (8 * (last % 8)));
}

}  // namespace

PingPong::PingPong(const PingPongOptions& options) : options_(options), bytes_(options.message) {
  if (options.largest_message > options.message && !options.iterations)
    fail_input("a latency test of several sizes needs the number of its iterations");
  find_ids();
}

void PingPong::find_ids() {
  std::array<bool, 256> found{};
  MessageId id;
  for (size_t missing = found.size(); missing > 0; id.sequence = id.sequence + 1) {
    const uint8_t byte = last_byte(id, bytes_);
    if (found[byte]) continue;
    found[byte] = true;
    ids_[byte] = id;
    --missing;
  }
}

PingPong::Turn PingPong::turn() const {
  return {bytes_, ids_[turn_ & 0xFF]};
}

PingPong::Turn PingPong::begin() {
  return turn();
}

std::optional<PingPong::Turn> PingPong::next() {
  if (++turn_ > options_.iterations.value_or(UINT32_MAX)) {
    bytes_ += bytes_;
    if (bytes_ > options_.largest_message) return std::nullopt;
    turn_ = 1;
    find_ids();
  }
  return turn();
}

}  // namespace rankwire
