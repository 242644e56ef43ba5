// Writes the nodes of one rank of a PyTorch job.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converters/device_queue.h"
#include "converters/host_timeline.h"
#include "converters/kineto.h"
#include "converters/node_writer.h"
#include "converters/process_group.h"

namespace rankwire {

struct PytorchRank {
  std::string path;  ///< of the trace, for errors
  uint32_t rank = 0;
  int64_t world_size = 0;  ///< 0: unknown
  std::vector<ProcessGroup> groups;
};

class PytorchWriter {
 public:
  /// `writer` has written nothing yet.
  PytorchWriter(PytorchRank rank, NodeWriter& writer) : rank_(std::move(rank)), writer_(writer) {}

  /// Writes everything. Throws Error(kInput) for communication that
  /// Chakra has no node for.
  void write(const KinetoTrace& trace, const HostTimeline& timeline, const DeviceQueue& queue);

 private:
  using Ids = std::vector<NodeWriter::Id>;

  void define_groups(const DeviceQueue& queue);
  void define(const PytorchCall& call);
  const std::string& group_name(const PytorchCall& call) const;
  std::vector<int64_t> members(const PytorchCall& call) const;
  NodeWriter::Id write_step(const HostStep& step, const Ids& after);
  NodeWriter::Id write_operation(const DeviceOperation& operation, const Ids& after);
  NodeWriter::Id write_collective(const DeviceOperation& operation, const Ids& after);
  NodeWriter::Id write_exchange(const DeviceOperation& operation, const Ids& after);
  NodeWriter::Id write_point_to_point(const DeviceOperation& operation, const Ids& after);
  uint32_t peer(const PytorchCall& call) const;
  uint64_t whole_micros(int64_t duration, int64_t& carried) const;
  template <class... Args>
  [[noreturn]] void fail(const PytorchCall& call, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}: call {} of group \"{}\": {}", rank_.path, call.sequence, call.group,
               fmt::format(format, std::forward<Args>(args)...));
  }

  PytorchRank rank_;
  NodeWriter& writer_;
  const Names* names_ = nullptr;
  std::unordered_map<int64_t, int64_t> carried_on_thread_, carried_on_stream_;  ///< ns that no node has had yet
};

}  // namespace rankwire
