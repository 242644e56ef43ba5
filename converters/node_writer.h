// Writes the nodes of one rank with the attributes that Chakra's consumers read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "converters/node_files.h"
#include "proto/chakra.pb.h"
#include "proto/trace_stream.h"

namespace rankwire {

/// What has been written.
struct NodeCounts {
  uint64_t nodes = 0;  ///< of all kinds
  uint64_t collectives = 0, sends = 0, receives = 0;
  uint64_t bytes = 0;  ///< of communication: the rank's inputs, and what it sends

  NodeCounts& operator+=(const NodeCounts& other) {
    nodes += other.nodes;
    collectives += other.collectives;
    sends += other.sends;
    receives += other.receives;
    bytes += other.bytes;
    return *this;
  }
};

/// Of what an operation sends; nothing runs one of more.
inline constexpr int64_t kMostOperationBytes = int64_t{1} << 50;

/// Ids count from 0 in file order. `dependencies` are ids returned before; they become data_deps. What communicates
/// throws Error(kInput) when it is larger than kMostOperationBytes, every node when its limit is reached.
class NodeWriter {
 public:
  using Id = uint64_t;
  using Dependencies = std::span<const Id>;

  /// Creates the file, if there is one, and writes the metadata: the schema's version, and what is given.
  explicit NodeWriter(const NodeFile& file, chakra::GlobalMetadata metadata = {});

  /// Of the next node alone: a further attribute, how long it took when it was recorded, or that the host does it.
  NodeWriter& with(const char* attribute, int64_t value);
  NodeWriter& with(const char* attribute, const std::string& text);
  NodeWriter& with_flag(const char* attribute, bool value);
  /// Sizes of a collective's parts by member (docs/collectives.md); nothing where there are none.
  NodeWriter& with_splits(std::span<const Bytes> parts);
  NodeWriter& lasting(uint64_t micros);
  /// When it began; 0 is "not recorded".
  NodeWriter& starting(uint64_t micros);
  NodeWriter& on_host();

  /// Defines process groups as PyTorch does (see print_groups).
  Id groups(std::string_view values);

  /// `flops` and `memory` are left out when both are 0.
  Id compute(std::string_view name, uint64_t duration_micros, int64_t flops, Bytes memory, Dependencies dependencies);
  /// From a memory that is not the accelerator's, by the accelerator.
  Id load(std::string_view name, uint64_t duration_micros, Bytes size, Dependencies dependencies);
  /// `size` is this rank's input.
  Id collective(std::string_view name, chakra::CollectiveCommType kind, const std::string& group, Bytes size,
                Dependencies dependencies);
  Id send(std::string_view name, uint32_t source, uint32_t destination, uint32_t tag, Bytes size,
          Dependencies dependencies);
  Id receive(std::string_view name, uint32_t source, uint32_t destination, uint32_t tag, Bytes size,
             Dependencies dependencies);

  /// From now on dependencies become ctrl_deps.
  void take_control_dependencies() { controls_ = true; }

  const NodeCounts& counts() const { return counts_; }
  /// Closes the file. Returns how many nodes there are.
  uint64_t close();

 private:
  chakra::Node& begin(std::string_view name, chakra::NodeType type, Dependencies dependencies);
  void set_size(Bytes size);
  Id transfer(std::string_view name, chakra::NodeType type, uint32_t source, uint32_t destination, uint32_t tag,
              Bytes size, Dependencies dependencies);
  chakra::AttributeProto& attribute(const char* name);
  Id end();

  std::optional<TraceWriter> file_;  ///< absent: nodes are only counted
  NodeLimit* limit_;
  chakra::Node node_;
  chakra::Node next_node_;  ///< what has been said of the next node
  bool on_host_ = false, controls_ = false;
  Id next_ = 0;
  NodeCounts counts_;
};

}  // namespace rankwire
