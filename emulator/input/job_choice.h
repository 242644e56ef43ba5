// How a configuration calls a job, or an item of the background, elsewhere.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace rankwire {

/// By its name, or by its number: jobs count from 0 in the order of their list, and items of the background behind
/// them.
struct JobChoice {
  JobChoice() = default;
  JobChoice(uint32_t of_job) : number(of_job) {}
  explicit JobChoice(std::string of_job) : name(std::move(of_job)) {}

  uint32_t number = 0;  ///< with a name, once settle_job_choices has found it
  std::string name;     ///< empty: called by its number
};

}  // namespace rankwire
