#pragma once

#include <span>

#include "base/record.h"

namespace rankwire::bench {

/// Takes what a run records, and keeps nothing of it.
class NoRecord final : public RecordSink {
 public:
  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord>) noexcept override {}
  bool wants_messages() const noexcept override { return false; }
};

}  // namespace rankwire::bench
