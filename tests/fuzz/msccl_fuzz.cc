// Any bytes as an algorithm of MSCCL's: refused, or messages that meet and nodes that can be run.
#include <map>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "converters/msccl_flow.h"
#include "tests/fuzz/input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  using fuzz::require;
  try {
    const MscclAlgorithm algorithm = parse_msccl("input", {reinterpret_cast<const char*>(data), size});
    const MscclFlow flow = follow_msccl("input", algorithm);
    require(flow.ranks.size() == algorithm.gpus.size(), "every gpu has its nodes");
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int64_t> messages;  // by source, destination, tag
    for (uint32_t rank = 0; rank < flow.ranks.size(); ++rank) {
      for (uint32_t n = 0; n < flow.ranks[rank].size(); ++n) {
        const FlowNode& node = flow.ranks[rank][n];
        require(node.peer < flow.ranks.size() && node.peer != rank, "peers are other ranks");
        require(node.count > 0 && node.chunk + node.count <= flow.chunks, "chunks are the collective's");
        for (const uint32_t before : node.after) require(before < n, "a node stands behind what it waits for");
        int64_t& sum =
            messages[node.sends ? std::tuple(rank, node.peer, node.tag) : std::tuple(node.peer, rank, node.tag)];
        sum += (node.sends ? 1 : -1) * int64_t{node.count};
      }
    }
    for (const auto& [message, sum] : messages) require(sum == 0, "what is sent is received");
  } catch (const Error&) {
  }
  return 0;
}
