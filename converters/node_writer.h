// Writes the nodes of one rank with the attributes that Chakra's consumers read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "proto/chakra.pb.h"
#include "proto/trace_stream.h"

namespace rankwire {

/// Ids count from 0 in file order. `dependencies` are ids returned before; they become data_deps.
class NodeWriter {
 public:
  using Id = uint64_t;
  using Dependencies = std::span<const Id>;

  /// Creates the file and writes the metadata.
  explicit NodeWriter(const std::string& path);

  Id compute(std::string_view name, uint64_t duration_micros, int64_t flops, Bytes memory, Dependencies dependencies);
  /// `size` is this rank's input.
  Id collective(std::string_view name, chakra::CollectiveCommType kind, const std::string& group, Bytes size,
                Dependencies dependencies);
  Id send(std::string_view name, uint32_t source, uint32_t destination, uint32_t tag, Bytes size,
          Dependencies dependencies);
  Id receive(std::string_view name, uint32_t source, uint32_t destination, uint32_t tag, Bytes size,
             Dependencies dependencies);

  uint64_t nodes() const { return next_; }
  void close() { file_.close(); }

 private:
  chakra::Node& begin(std::string_view name, chakra::NodeType type, Dependencies dependencies);
  Id transfer(std::string_view name, chakra::NodeType type, uint32_t source, uint32_t destination, uint32_t tag,
              Bytes size, Dependencies dependencies);
  chakra::AttributeProto& attribute(const char* name);
  Id end();

  TraceWriter file_;
  chakra::Node node_;
  Id next_ = 0;
};

}  // namespace rankwire
