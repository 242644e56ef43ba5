// What the ranks of an MSCCL algorithm send each other, when each has one place for a chunk of the collective.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "converters/contributors.h"
#include "converters/msccl_layout.h"
#include "converters/msccl_steps.h"

namespace rankwire {

/// One chunk of a message: its number, and the index in it.
struct MscclPiece {
  uint32_t message = 0, index = 0;
  bool operator==(const MscclPiece&) const = default;
};

/// What stands at a place of a buffer.
struct MscclContent {
  ChunkSum data;
  std::vector<MscclPiece> received;  ///< what was received that is in `data`
};

/// One end of a message.
struct MscclEnd {
  StepPlace at;
  uint32_t message = 0;
  bool sends = false;
  std::vector<uint32_t> after;  ///< ends of the same rank
};

struct MscclMessage {
  uint32_t from = 0, to = 0, channel = 0;
  std::vector<ChunkSum> data;
  uint32_t send = 0, receive = 0;      ///< ends
  std::vector<bool> settled, reduces;  ///< by chunk, whether and how the receiver has put it to the others
};

/// Messages in the order in which they are sent. Whether a receive adds to the rank's place for a chunk or overwrites
/// it shows when the chunk is sent on or is a result: by then it is settled. `steps` must outlive it. Errors name a
/// step.
class MscclExchange {
 public:
  explicit MscclExchange(const MscclSteps& steps) : steps_(steps), slots_(steps.ranks()) {}

  /// The rank's place for the chunk has this from the beginning.
  void hold(uint32_t rank, const ChunkSum& sum) { slots_[rank][sum.chunk].of = sum.of; }
  /// The step sends what stands there, when the ends `before` are done, which then are the end of this message alone.
  /// Returns its number.
  uint32_t send(const StepPlace& at, std::vector<uint32_t>& before, std::span<const MscclContent> moving);
  /// The step receives the message of this number into `moving`, whose size must be that of the message.
  void receive(const StepPlace& at, uint32_t number, std::vector<uint32_t>& before, std::span<MscclContent> moving);
  /// What stands there in the end, if any of it was received, is that of the rank's place for the chunk.
  void settle_result(const MscclContent& made);
  /// Throws where something that was received is in nothing that was sent or is a result.
  void check_use() const;

  std::vector<MscclEnd>& ends() { return ends_; }
  const std::vector<MscclMessage>& messages() const { return messages_; }
  /// The step that sends the message.
  const StepPlace& sender(uint32_t message) const { return ends_[messages_[message].send].at; }

 private:
  /// What a rank has of a chunk, when it has one place for it.
  struct Slot {
    Contributors of;
    std::vector<uint32_t> writers, adders, readers;  ///< ends since it was overwritten
  };

  uint32_t add_end(const StepPlace& at, uint32_t message, bool sends, std::vector<uint32_t>& before);
  Slot& settle(const StepPlace& at, const MscclContent& wanted);
  void put(Slot& slot, const MscclPiece& piece, bool overwrites);
  const ChunkSum& data_of(const MscclPiece& piece) const { return messages_[piece.message].data[piece.index]; }

  const MscclSteps& steps_;
  std::vector<std::unordered_map<uint32_t, Slot>> slots_;  ///< by rank and chunk
  std::vector<MscclMessage> messages_;
  std::vector<MscclEnd> ends_;
};

}  // namespace rankwire
