// Tensors as producers of traces write them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace rankwire {

/// A tensor of PyTorch: [tensor, storage, offset, elements, bytes of an element, 'cuda:0'].
struct TensorText {
  int64_t storage = 0, offset = 0, elements = 0, element_bytes = 0;
};

/// Calls `tensor` for every one on an accelerator in `values`, which is a list in Python's notation.
void for_each_tensor(std::string_view values, const std::function<void(const TensorText&)>& tensor);

/// How many ranks the group of a PyTorch communication has: its inputs end with first rank, stride and number of ranks
/// behind the two lists of splits. 0 when they do not.
int64_t group_size_of(std::string_view values);

/// STAGE's sizes of tensors: "8388608.0". Nothing for what is no whole number of 0 to 2^53.
std::optional<int64_t> tensor_size(std::string_view text);

}  // namespace rankwire
