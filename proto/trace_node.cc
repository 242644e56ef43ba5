#include "proto/trace_node.h"

namespace rankwire {

void TraceNode::clear() noexcept {
  id = 0;
  name = {};
  type = chakra::INVALID_NODE;
  control_deps.clear();
  data_deps.clear();
  start = duration = 0;
  unit = microseconds(1);
  inputs = outputs = {};
  attributes.clear();
}

}  // namespace rankwire
