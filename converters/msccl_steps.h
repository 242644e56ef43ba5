// Steps of an MSCCL algorithm by their place, and errors that name one.
#pragma once

#include <fmt/format.h>

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "base/error.h"
#include "converters/msccl_text.h"

namespace rankwire {

/// Where a step stands: indexes of GPU, thread block of the GPU, and step of the thread block.
struct StepPlace {
  uint32_t rank = 0, block = 0, step = 0;
  auto operator<=>(const StepPlace&) const = default;
};

/// `path`, which is for messages, and the algorithm must outlive it.
class MscclSteps {
 public:
  MscclSteps(const std::string& path, const MscclAlgorithm& algorithm) : path_(path), algorithm_(algorithm) {}

  const std::string& path() const { return path_; }
  const MscclAlgorithm& algorithm() const { return algorithm_; }
  uint32_t ranks() const { return static_cast<uint32_t>(algorithm_.gpus.size()); }
  const MscclBlock& block(const StepPlace& at) const { return algorithm_.gpus[at.rank].blocks[at.block]; }
  const MscclStep& step(const StepPlace& at) const { return block(at).steps[at.step]; }

  std::string name(const StepPlace& at) const {
    return fmt::format("gpu {} thread block {} step {}", at.rank, block(at).id, at.step);
  }
  /// Throws Error(kInput) that names the step and its line.
  template <class... Args>
  [[noreturn]] void fail(const StepPlace& at, fmt::format_string<Args...> format, Args&&... args) const {
    fail_input("{}:{}: {}: {}", path_, step(at).line, name(at), fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const std::string& path_;
  const MscclAlgorithm& algorithm_;
};

}  // namespace rankwire
