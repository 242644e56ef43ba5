// An algorithm that a user describes, for groups of one size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/collective/schedule.h"

namespace rankwire {

class ScheduleBuilder;

/// A message that a member sends, or receives.
struct CustomStep {
  StepKind kind = StepKind::kSend;  ///< kSend or kReceive
  bool reduce = false;              ///< kReceive: add to the member's own
  uint8_t channel = 0;
  uint32_t peer = 0;            ///< position
  int64_t tag = 0;              ///< the same at both ends
  uint32_t chunk = 0;           ///< the first
  uint32_t count = 1;           ///< chunks one after another
  std::vector<uint32_t> after;  ///< earlier steps of this member
};

/// The buffer of the operation, as Step::offset counts in it, is divided into `chunks`: its blocks - the input of an
/// all-reduce, broadcast or reduce, the parts of a reduce-scatter, the inputs of an all-gather, of an all-to-all every
/// input's parts - into equally many parts each.
struct CustomAlgorithm {
  std::string name;  ///< for messages
  Operation operation = Operation::kAllReduce;
  uint32_t chunks = 1;
  uint32_t root = 0;  ///< of a broadcast or reduce: a position; for other roots all positions turn with it
  std::vector<std::vector<CustomStep>> members;  ///< by position; steps stand behind those that they wait for

  uint32_t size() const { return static_cast<uint32_t>(members.size()); }
};

/// Blocks of the operation's buffer in a group of n; 0: a user cannot describe the operation.
uint32_t custom_blocks(Operation operation, uint32_t n);

/// Executes the algorithm on data, chunk by chunk. Throws Error(kInput), naming member and chunk, when the operation
/// cannot be described, chunks do not divide the blocks, the ends of a message disagree, a member sends what it does
/// not have or adds what it has added, steps wait for each other for ever, or a member does not end with what the
/// operation defines.
void check_custom_algorithm(const CustomAlgorithm& algorithm);

/// The builder's member, in slices: each waits for what touches the same bytes before it, as in DataFlow, and for the
/// last slice of a step that it names and shares no bytes with.
void add_custom_algorithm(ScheduleBuilder& builder, const CustomAlgorithm& algorithm);

}  // namespace rankwire
