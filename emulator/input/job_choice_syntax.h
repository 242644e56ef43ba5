// How a job is called in YAML; see syntax.h.
#pragma once

#include <string_view>

#include "base/message.h"
#include "emulator/input/job_choice.h"
#include "emulator/input/syntax.h"

namespace rankwire {

/// Digits are a number, whatever jobs are called.
struct JobChoiceSyntax {
  JobChoice parse(const Tree& scalar) const {
    if (!scalar.text.empty() && scalar.text.find_first_not_of("0123456789") == std::string::npos)
      return JobChoice(number().parse(scalar));
    return JobChoice(Name().parse(scalar));
  }
  ConfigJson print(const JobChoice& value) const {
    return value.name.empty() ? ConfigJson(value.number) : ConfigJson(value.name);
  }

 private:
  static Integer<uint32_t> number() { return {0, MessageId::kMaxJobs - 1}; }
};

}  // namespace rankwire
