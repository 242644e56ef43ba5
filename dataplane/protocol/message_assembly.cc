#include "dataplane/protocol/message_assembly.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "base/message.h"

namespace rankwire {
namespace {

constexpr uint64_t key_mask(uint64_t bytes) {
  return bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * bytes)) - 1;
}

// A part of less than 8 bytes carries only the beginning of the key. There is at most one such that is not empty, since
// parts other than the last are of at least 128 bytes.
void merge(ReceivedPart& message, const ReceivedPart& part) {
  const uint64_t common = key_mask(message.bytes) & key_mask(part.bytes);
  message.payload_good &= part.payload_good && ((message.key ^ part.key) & common) == 0;
  if (message.failure == Failure::kNone) message.failure = part.failure;
  message.key |= part.key & ~key_mask(message.bytes);
  message.bytes += part.bytes;
  message.marks += part.marks;
  message.first_rx = std::min(message.first_rx, part.first_rx);
  message.delivered = std::max(message.delivered, part.delivered);
}

}  // namespace

MessageAssembly::MessageAssembly(uint32_t capacity)
    : capacity_(capacity), mask_(std::bit_ceil(2 * capacity + 2) - 1), entries_(mask_ + 1) {}

uint32_t MessageAssembly::home(ConnectionId connection, uint32_t index) const noexcept {
  return static_cast<uint32_t>(mix64(uint64_t{connection.value} << 32 | index)) & mask_;
}

// The message's place, or the free one where it would be put.
uint32_t MessageAssembly::find(ConnectionId connection, uint32_t index) const noexcept {
  uint32_t place = home(connection, index);
  while (entries_[place].connection.valid() &&
         !(entries_[place].connection == connection && entries_[place].index == index))
    place = (place + 1) & mask_;
  return place;
}

bool MessageAssembly::admits(ConnectionId connection, uint32_t index) const noexcept {
  return size_ < capacity_ || entries_[find(connection, index)].connection.valid();
}

uint32_t MessageAssembly::place_of(ConnectionId connection, uint32_t index, uint32_t parts) noexcept {
  const uint32_t place = find(connection, index);
  if (!entries_[place].connection.valid()) {
    assert(size_ < capacity_);
    ++size_;
    entries_[place] = {connection, index, {{}, parts}};
  }
  return place;
}

void MessageAssembly::open(ConnectionId connection, uint32_t index, uint32_t parts) noexcept {
  place_of(connection, index, parts);
}

MessageAssembly::Progress MessageAssembly::add(ConnectionId connection, uint32_t index, uint32_t parts,
                                               const ReceivedPart& part) noexcept {
  const uint32_t place = place_of(connection, index, parts);
  merge(entries_[place].progress.message, part);
  --entries_[place].progress.missing;
  const Progress progress = entries_[place].progress;
  if (progress.missing == 0) erase(place);
  return progress;
}

void MessageAssembly::forget(ConnectionId connection) noexcept {
  // What follows a place moves there when it is erased; from the end of the table it may come to its beginning.
  for (int pass = 0; pass < 2; ++pass)
    for (uint32_t place = 0; place <= mask_; ++place)
      while (entries_[place].connection == connection) erase(place);
}

// Closes the gap, so that probing needs no tombstones (Knuth, TAOCP vol. 3, 6.4, algorithm R).
void MessageAssembly::erase(uint32_t place) noexcept {
  --size_;
  for (uint32_t next = (place + 1) & mask_; entries_[next].connection.valid(); next = (next + 1) & mask_) {
    const uint32_t wanted = home(entries_[next].connection, entries_[next].index);
    if (((next - wanted) & mask_) < ((next - place) & mask_)) continue;
    entries_[place] = entries_[next];
    place = next;
  }
  entries_[place].connection = ConnectionId::invalid();
}

}  // namespace rankwire
