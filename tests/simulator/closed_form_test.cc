// The model against closed forms of collectives of every number of members, to the picosecond.
#include "tests/simulator/closed_form.h"

#include <gtest/gtest.h>

#include "tests/collective/named_algorithms.h"

namespace rankwire {
namespace {

class ClosedFormOfTheModel : public ::testing::TestWithParam<ClosedCase> {};

/// A message each, whatever its size: a packet, some, many.
constexpr int64_t kBlocks[] = {16, 4096, 20'000, 1 << 20, 64 << 20};

TEST_P(ClosedFormOfTheModel, IsItsTime) {
  const ClosedCase& of = GetParam();
  for (uint32_t members = 2; members <= 64; ++members) {
    for (const int64_t block : kBlocks) {
      const Bytes input = closed_input(of, members, block);
      const ScheduleRequest request{.operation = of.operation, .members = members, .bytes = input};
      const auto schedules = schedules_of(request, options_of({of.operation, of.algorithm}, 1, Bytes(INT32_MAX)));
      const ClosedForm form = of.form(members, input);
      if (form.message.count > INT32_MAX) continue;  // more than a message can have
      EXPECT_EQ(Walk(schedules).run().ps, form.time().ps) << members << " members, " << block << " bytes of each";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, ClosedFormOfTheModel, ::testing::ValuesIn(closed_cases()), case_name);

}  // namespace
}  // namespace rankwire
