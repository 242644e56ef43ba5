#include "converters/msccl_exchange.h"

#include <algorithm>
#include <utility>

namespace rankwire {

uint32_t MscclExchange::add_end(const StepPlace& at, uint32_t message, bool sends, std::vector<uint32_t>& before) {
  const auto end = static_cast<uint32_t>(ends_.size());
  ends_.push_back({.at = at, .message = message, .sends = sends, .after = before});
  before = {end};
  return end;
}

void MscclExchange::receive(const StepPlace& at, uint32_t number, std::vector<uint32_t>& before,
                            std::span<MscclContent> moving) {
  MscclMessage& message = messages_[number];
  if (message.data.size() != moving.size()) {
    steps_.fail(at, "receives {} chunks, but {} sends {}", moving.size(), steps_.name(sender(number)),
                message.data.size());
  }
  message.receive = add_end(at, number, false, before);
  for (uint32_t i = 0; i < moving.size(); ++i) moving[i] = {message.data[i], {{number, i}}};
}

uint32_t MscclExchange::send(const StepPlace& at, std::vector<uint32_t>& before, std::span<const MscclContent> moving) {
  const auto number = static_cast<uint32_t>(messages_.size());
  const MscclBlock& block = steps_.block(at);
  MscclMessage message{.from = at.rank, .to = *block.send, .channel = block.channel};
  message.send = add_end(at, number, true, before);
  for (const MscclContent& moved : moving) {
    Slot& slot = settle(at, moved);
    std::vector<uint32_t>& after = ends_[message.send].after;
    after.insert(after.end(), slot.writers.begin(), slot.writers.end());
    after.insert(after.end(), slot.adders.begin(), slot.adders.end());
    slot.readers.push_back(message.send);
    message.data.push_back(moved.data);
  }
  message.settled.resize(moving.size());
  message.reduces.resize(moving.size());
  messages_.push_back(std::move(message));
  return number;
}

void MscclExchange::settle_result(const MscclContent& made) {
  if (!made.received.empty()) settle(ends_[messages_[made.received.back().message].receive].at, made);
}

void MscclExchange::check_use() const {
  for (const MscclMessage& message : messages_) {
    const auto unused = std::ranges::find(message.settled, false);
    if (unused == message.settled.end()) continue;
    const auto index = static_cast<size_t>(unused - message.settled.begin());
    steps_.fail(ends_[message.receive].at, "nothing is done with {}", described(message.data[index]));
  }
}

/// Has the rank's one place for the chunk have what stands at a place of a buffer, by what was received and is in it.
MscclExchange::Slot& MscclExchange::settle(const StepPlace& at, const MscclContent& wanted) {
  Slot& slot = slots_[at.rank][wanted.data.chunk];
  std::vector<MscclPiece> open;
  for (const MscclPiece& piece : wanted.received) {
    const MscclMessage& message = messages_[piece.message];
    if (!message.settled[piece.index] && std::ranges::find(open, piece) == open.end()) open.push_back(piece);
  }
  Contributors received;
  for (const MscclPiece& piece : open) received |= data_of(piece).of;
  Contributors sum = slot.of;
  sum |= received;
  const bool adds = !open.empty() && !slot.of.overlaps(received) && sum == wanted.data.of;
  const bool replaces = !open.empty() && !adds && received == wanted.data.of;
  if (!adds && !replaces && !(open.empty() && slot.of == wanted.data.of)) {
    steps_.fail(
        at,
        "{} cannot be had: rankwire's algorithms have one place for a chunk, where {} stands and gpus {} would be "
        "received",
        described(wanted.data), described(ChunkSum{wanted.data.chunk, slot.of}), to_string(received));
  }
  bool overwrites = replaces || slot.of.empty();
  for (const MscclPiece& piece : open) {
    put(slot, piece, std::exchange(overwrites, false));
  }
  if (!open.empty()) slot.of = wanted.data.of;
  return slot;
}

void MscclExchange::put(Slot& slot, const MscclPiece& piece, bool overwrites) {
  MscclMessage& message = messages_[piece.message];
  message.settled[piece.index] = true;
  message.reduces[piece.index] = !overwrites;
  std::vector<uint32_t>& after = ends_[message.receive].after;
  after.insert(after.end(), slot.readers.begin(), slot.readers.end());
  after.insert(after.end(), slot.writers.begin(), slot.writers.end());
  if (!overwrites) {
    slot.adders.push_back(message.receive);
    return;
  }
  after.insert(after.end(), slot.adders.begin(), slot.adders.end());
  slot = {.writers = {message.receive}};
}

}  // namespace rankwire
