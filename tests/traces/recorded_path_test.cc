#include "emulator/traces/recorded_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/planted.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::ElementsAre;

/// "rank:id from-to" in microseconds.
std::vector<std::string> path_of(const std::vector<Nodes>& ranks) {
  const TraceSet set(ranks);
  const CheckedSet checked = check(set);
  const Timing timing = time_operations(checked.set, checked.matches, {});
  EXPECT_TRUE(timing.recorded);
  std::vector<std::string> list;
  for (const PathStep& step : timing.critical) {
    list.push_back(std::to_string(checked.set.ranks[step.at.place].rank) + ":" +
                   std::to_string(checked.set.node(step.at).id) + " " + std::to_string(step.span.start.ps / 1'000'000) +
                   "-" + std::to_string(step.span.end.ps / 1'000'000));
  }
  return list;
}

// Rank 0 ends last. Its collective waited for rank 1, which came 8 us later, because it computed for so long.
TEST(RecordedPath, GoesOnAtTheLastMemberOfACollective) {
  const Nodes first = {recorded(step(1), 1000, 10), recorded(all_reduce(2, {1}), 1010, 20),
                       recorded(step(3, {2}), 1032, 18)};
  const Nodes second = {recorded(step(1), 1000, 18), recorded(all_reduce(2, {1}), 1018, 12),
                        recorded(step(3, {2}), 1030, 10)};
  EXPECT_THAT(path_of({first, second}), ElementsAre("1:1 0-18", "1:2 18-30", "0:3 32-50"));
}

// The RECV began at 5, but ends behind its SEND, which ended at 25.
TEST(RecordedPath, GoesOnAtTheSendOfAMessage) {
  const Nodes sends = {recorded(step(1), 1000, 20), recorded(send(2, "out", 1).after({1}).size(8), 1020, 5)};
  const Nodes receives = {recorded(receive(1, "in", 0).size(8), 1022, 5), recorded(step(2, {1}), 1027, 10)};
  EXPECT_THAT(path_of({sends, receives}), ElementsAre("0:1 0-20", "0:2 20-22", "1:1 22-27", "1:2 27-37"));
}

// Kernel 4 depends on host operation 2 alone, but its stream was busy with kernel 3.
TEST(RecordedPath, GoesOnAtWhatTheStreamDidBefore) {
  const Nodes nodes = {recorded(on_host(1), 1000, 2), recorded(on_host(2, {1}), 1002, 2),
                       recorded(kernel(3, {1}), 1003, 20), recorded(kernel(4, {2}), 1023, 5)};
  EXPECT_THAT(path_of({nodes}), ElementsAre("0:1 0-2", "0:3 3-23", "0:4 23-28"));
}

// Nodes that begin at once and take no time, and dependencies on what begins later, end the walk.
TEST(RecordedPath, EndsWhereTimesContradictDependencies) {
  const Nodes nodes = {recorded(step(1, {2}), 1000, 0), recorded(step(2, {1}), 1000, 0),
                       recorded(step(3, {2, 4}), 1000, 5), recorded(step(4), 1004, 1)};
  EXPECT_THAT(path_of({nodes}), ElementsAre("0:3 0-5"));
}

}  // namespace
}  // namespace rankwire
