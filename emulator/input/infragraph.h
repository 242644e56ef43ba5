// InfraGraph: from devices, instances and edges to a graph of components, and from that to a topology.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/input/infragraph_file.h"
#include "fabric/topology.h"

namespace rankwire {

/// Every component of every instance is a node: "server.0.nic.1", within a device of a device "server.0.cx5.1.port.0".
struct InfraGraph {
  struct Node {
    std::string name, type;
  };
  struct Edge {
    uint32_t a = 0, b = 0;  ///< nodes
    InfraLink link;
    bool within_device = false;
  };
  std::vector<Node> nodes;  ///< instance by instance, component by component
  std::vector<Edge> edges;  ///< two nodes have one edge at most, the last that the file has
};

/// Throws Error(kInput) naming file, line and edge: for names that are not there, indexes beyond a count, an edge
/// without scheme, and a one2one edge of unequal ends.
InfraGraph expand(const Infrastructure& infrastructure);

/// The components of type xpu, or where there are none those of type nic, are hosts, in the order of the nodes: each
/// has a switch of its own through which no path leads, and an attachment without latency. Of the others, those of
/// types xpu, nic (without xpu), switch and cpu are switches; parts between them, ports for example, belong to the one
/// such neighbour that links within the device without bandwidth and latency join them with, and are switches where
/// they have none or several. Paths avoid CPUs. A link without bandwidth or latency takes that of `standard`. The
/// attachments' rate is 0. Throws Error(kInput).
Topology infragraph_topology(const InfraGraph& graph, const Line& standard);

}  // namespace rankwire
