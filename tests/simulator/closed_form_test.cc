// The model against closed forms of collectives of every number of members, to the picosecond.
#include "tests/simulator/closed_form.h"

#include <gtest/gtest.h>

#include "tests/collective/named_algorithms.h"
#include "tests/simulator/closed_form_trees.h"

namespace rankwire {
namespace {

class ClosedFormOfTheModel : public ::testing::TestWithParam<ClosedCase> {};

/// A message each, whatever its size: a packet, some, many.
constexpr int64_t kBlocks[] = {16, 4096, 20'000, 1 << 20, 64 << 20};

TEST_P(ClosedFormOfTheModel, IsItsTime) {
  const ClosedCase& of = GetParam();
  for (uint32_t members = 2; members <= 64; ++members) {
    if (!of.suits(members)) continue;
    for (const int64_t block : kBlocks) {
      const Bytes input = closed_input(of, members, block);
      ScheduleRequest request{.operation = of.operation, .members = members, .bytes = input};
      for (uint32_t m = 0; of.of_host > 0 && m < members; ++m)
        request.hosts.push_back(static_cast<uint32_t>(m / of.of_host));
      const ClosedForms form = of.form(members, input);
      if (largest_of(form).count > INT32_MAX) continue;  // more than a message can have
      const auto schedules = schedules_of(request, options_of({of.operation, of.algorithm}, 1, Bytes(INT32_MAX)));
      const Duration time = Walk(schedules).run();
      EXPECT_LE(time.ps, time_of(form).ps) << members << " members, " << block << " bytes of each";
      EXPECT_GE(time.ps, of.least_time(members, input).ps) << members << " members, " << block << " bytes of each";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, ClosedFormOfTheModel, ::testing::ValuesIn(closed_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Trees, ClosedFormOfTheModel, ::testing::ValuesIn(closed_tree_cases()), case_name);

}  // namespace
}  // namespace rankwire
