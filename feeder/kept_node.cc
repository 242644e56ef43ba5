#include "feeder/kept_node.h"

namespace rankwire {
namespace {

/// Calls `visit` with each view of a node.
template <class Node, class Visit>
void for_each_text(Node& node, Visit visit) {
  visit(node.name);
  for (auto* tensors : {&node.inputs, &node.outputs}) {
    visit(tensors->values);
    visit(tensors->shapes);
    visit(tensors->types);
  }
  for (auto& attribute : node.attributes) {
    visit(attribute.name);
    visit(attribute.text);
  }
}

}  // namespace

void KeptNode::assign(const TraceNode& node) {
  node_ = node;
  text_.clear();
  for_each_text(node, [&](std::string_view text) { text_.append(text); });
  const char* at = text_.data();
  for_each_text(node_, [&](std::string_view& text) {
    text = {at, text.size()};
    at += text.size();
  });
}

size_t KeptNode::bytes() const noexcept {
  return text_.capacity() + node_.attributes.capacity() * sizeof(TraceAttribute) +
         (node_.control_deps.capacity() + node_.data_deps.capacity()) * sizeof(uint64_t);
}

}  // namespace rankwire
