#include "feeder/kept_node.h"

#include <utility>

namespace rankwire {
namespace {

/// Calls `visit` with each view of a node.
template <class Visit>
void for_each_text(TraceNode& node, Visit visit) {
  visit(node.name);
  for (TraceTensors* tensors : {&node.inputs, &node.outputs}) {
    visit(tensors->values);
    visit(tensors->shapes);
    visit(tensors->types);
  }
  for (TraceAttribute& attribute : node.attributes) {
    visit(attribute.name);
    visit(attribute.text);
  }
}

}  // namespace

void KeptNode::take(TraceNode& node, std::string_view frame) {
  std::swap(node_, node);
  frame.empty() ? copy_texts() : copy_frame(frame);
}

void KeptNode::copy_frame(std::string_view frame) {
  text_.assign(frame);
  for_each_text(node_, [&](std::string_view& text) {
    if (!text.empty()) text = {text_.data() + (text.data() - frame.data()), text.size()};
  });
}

void KeptNode::copy_texts() {
  text_.clear();
  for_each_text(node_, [&](std::string_view text) { text_.append(text); });
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
