// Writes the nodes of one rank of a PyTorch job.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converters/call_writer.h"
#include "converters/device_queue.h"
#include "converters/host_timeline.h"
#include "converters/kineto.h"
#include "converters/node_writer.h"

namespace rankwire {

class PytorchWriter {
 public:
  /// `writer` has written nothing yet. With `start_times` nodes have theirs, and the timeline is a dense one.
  PytorchWriter(CallingRank rank, NodeWriter& writer, bool start_times)
      : path_(rank.path), start_times_(start_times), writer_(writer), calls_(std::move(rank), writer) {}

  /// Writes everything. Throws Error(kInput) for communication that
  /// Chakra has no node for.
  void write(const KinetoTrace& trace, const HostTimeline& timeline, const DeviceQueue& queue);
  /// The process groups of what was written.
  const std::vector<ProcessGroup>& groups() const { return calls_.groups(); }

 private:
  using Ids = std::vector<NodeWriter::Id>;
  using Calls = std::span<const PytorchCall* const>;

  void define_groups(const DeviceQueue& queue);
  NodeWriter::Id write_step(const HostStep& step, const Ids& after);
  NodeWriter::Id write_operation(const DeviceOperation& operation, Calls calls, const Ids& after);
  RecordedMicros micros_of(int64_t begin, int64_t duration, int64_t& carried) const;

  const std::string path_;
  const bool start_times_;
  NodeWriter& writer_;
  CallWriter calls_;
  const KinetoNames* names_ = nullptr;
  std::unordered_map<int64_t, int64_t> carried_on_thread_, carried_on_stream_;  ///< ns that no node has had yet
};

}  // namespace rankwire
