// Any bytes as an InfraGraph file: refused, or a topology whose hosts and links are within it.
#include "base/error.h"
#include "emulator/input/infragraph.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  using fuzz::require;
  const fuzz::MemoryFile file({data, size});
  try {
    const InfraGraph graph = expand(read_infrastructure(file.path()));
    for (const InfraGraph::Edge& edge : graph.edges) {
      require(edge.a < graph.nodes.size() && edge.b < graph.nodes.size(), "an edge joins nodes that there are");
    }
    // What follows grows with the graph, not with the text.
    if (graph.nodes.size() > 256 || graph.edges.size() > 1024) return 0;
    const Topology topology = infragraph_topology(graph, {Bandwidth(1'000'000'000), microseconds(1)});
    require(!topology.hosts.empty(), "there is a host");
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kInput, "it is the file that is wrong");
  }
  return 0;
}
