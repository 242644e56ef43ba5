// Calls of torch.distributed as nodes of Chakra.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "converters/node_writer.h"
#include "converters/process_group.h"
#include "converters/pytorch_call.h"

namespace rankwire {

/// When a node was carried out.
struct RecordedMicros {
  uint64_t duration = 0;
  uint64_t start = 0;  ///< 0: not told
};

/// The rank whose trace is written.
struct CallingRank {
  std::string path;  ///< of what is converted, for errors
  uint32_t rank = 0;
  int64_t world_size = 0;  ///< 0: unknown
  std::vector<ProcessGroup> groups;
};

/// Of the messages of a group, the same at both ends, so that those of different groups between two ranks are told
/// apart.
uint32_t message_tag(const std::string& group);

class CallWriter {
 public:
  using Ids = std::vector<NodeWriter::Id>;

  /// `writer` has written nothing yet.
  CallWriter(CallingRank rank, NodeWriter& writer) : rank_(std::move(rank)), writer_(writer) {}

  /// Adds the group of a call, as far as the call tells of it, unless a group of that name is known.
  void define(const PytorchCall& call);
  /// Those that are known by now.
  const std::vector<ProcessGroup>& groups() const { return rank_.groups; }
  /// Writes the groups; nothing may have been written before.
  void write_groups();

  /// Writes what the call communicates and returns its node. An all-to-all of unequal parts gets `comm_splits`: how
  /// many bytes go to each member. Throws Error(kInput) for what Chakra has no node for.
  NodeWriter::Id write(const PytorchCall& call, std::string_view name, RecordedMicros micros,
                       std::optional<int64_t> stream, const Ids& after);
  /// The same of calls that one kernel carries out together: none waits for another.
  NodeWriter::Id write_batch(std::span<const PytorchCall* const> calls, std::string_view name, RecordedMicros micros,
                             std::optional<int64_t> stream, const Ids& after);

 private:
  const std::string& group_name(const PytorchCall& call) const;
  std::vector<int64_t> members(const PytorchCall& call) const;
  NodeWriter::Id write_collective(const PytorchCall& call, std::string_view name, const Ids& after);
  NodeWriter::Id write_point_to_point(const PytorchCall& call, std::string_view name, const Ids& after);
  /// The bytes of an all-to-all's parts, one for each member, as a list in text. `rows` divide `all` evenly.
  std::string splits(const PytorchCall& call, const std::vector<int64_t>& rows, Bytes all) const;
  uint32_t peer(const PytorchCall& call) const;
  template <class... Args>
  [[noreturn]] void fail(const PytorchCall& call, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: call {} of group \"{}\": {}", rank_.path, call.sequence, call.group,
               fmt::format(format, std::forward<Args>(args)...));
  }

  CallingRank rank_;
  NodeWriter& writer_;
};

}  // namespace rankwire
