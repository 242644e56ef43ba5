// Who stands in DPDK's environment.
#pragma once

#include <memory>
#include <utility>

#include "dataplane/dpdk/environment.h"

namespace rankwire {

/// The environment that ports declared after this stand in. What they took of its memory goes back when they have gone.
class DpdkUse {
 public:
  DpdkUse() = default;
  ~DpdkUse() {
    if (environment_ != nullptr) environment_->free_frames();
  }
  DpdkUse(const DpdkUse&) = delete;
  DpdkUse& operator=(const DpdkUse&) = delete;

  void use(std::shared_ptr<DpdkEnvironment> environment) { environment_ = std::move(environment); }
  bool is_used() const { return environment_ != nullptr; }
  DpdkEnvironment& operator*() const { return *environment_; }

 private:
  std::shared_ptr<DpdkEnvironment> environment_;
};

}  // namespace rankwire
