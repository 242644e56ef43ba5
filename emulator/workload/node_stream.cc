#include "emulator/workload/node_stream.h"

namespace rankwire {

Parents parents_of(const TraceNode& node, DependencyUse use) noexcept {
  // Where control dependencies must resolve they carry the graph alone.
  if (use.control_must_resolve) return {node.control_deps, {}};
  Parents parents;
  if (use.data) parents.required = node.data_deps;
  if (use.control) parents.optional = node.control_deps;
  return parents;
}

NodeStream::NodeStream(const Workload& workload, RankId rank)
    : rank_(rank),
      trace_(workload.ranks[rank.value]),
      streaming_(workload.streaming[trace_.streamed->part]),
      file_(trace_.file),
      reader_(RankId(rank.value - streaming_.first_rank), streaming_.ranks, streaming_.options),
      selector_(streaming_.options.select) {}

bool NodeStream::next() {
  if (!file_.next(in_)) {
    if (place_ != trace_.streamed->nodes) fail_changed();
    return false;
  }
  const std::vector<uint32_t>& places = trace_.streamed->places;
  kept_ = next_kept_ < places.size() && places[next_kept_] == place_ ? next_kept_++ : kNotKept;
  ++place_;
  if (kept_ != kNotKept) {
    if (trace_.nodes[kept_].id != in_.id) fail_changed();
    return true;
  }
  reader_.read(in_, node_);
  if (is_communication(node_.kind)) fail_changed();
  selector_.apply(node_, {});
  if (streaming_.model) streaming_.model(rank_, node_);
  return true;
}

void NodeStream::fail_changed() const {
  fail_input("{}: the file has changed since it was read first, at node {}", trace_.file, place_);
}

}  // namespace rankwire
