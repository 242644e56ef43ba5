// Runs of workloads that stay in their files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/engine/bench.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file
using ::testing::HasSubstr;

/// Three ranks that compute, launch and reduce, each with other times. Node n of a rank depends on one or two of the
/// ten before it, and now and then on nothing.
std::vector<Nodes> three_ranks(std::mt19937& random) {
  std::vector<Nodes> ranks(3);
  for (Nodes& nodes : ranks) {
    for (uint64_t id = 0; id < 300; ++id) {
      const std::string name = fmt::format("node {}", id);
      Make make = id % 9 == 0 ? collective(id, name).size(1200) : compute(id, name);
      if (id % 4 == 1) make.on_cpu();
      make.micros(random() % 5);
      for (uint64_t n = 1 + random() % 2; n > 0 && id > 0 && random() % 11 != 0; --n) {
        make.after({id - 1 - random() % std::min<uint64_t>(id, 10)});
      }
      nodes.push_back(make);
    }
  }
  return ranks;
}

std::string shown(const OperationRecord& row) {
  return fmt::format("{} {} {} {} {}", row.rank.value, row.node, row.iteration, row.start.ps, row.end.ps);
}

std::string shown(const MessageRecord& row) {
  return fmt::format("{} {} {} {}", to_string(row.id), row.at_source, row.first.ps, row.last.ps);
}

template <class Row>
std::vector<std::string> shown_all(const std::vector<Row>& rows) {
  std::vector<std::string> texts;
  for (const Row& row : rows) texts.push_back(shown(row));
  return texts;
}

TEST(StreamedRun, LeavesTheRowsOfARunInMemory) {
  std::mt19937 random(11);
  for (const uint32_t reach : {2, 16, 100}) {
    TraceSet set(three_ranks(random));
    const EngineOptions options{.iterations = 3, .compute = 2, .host = 2};
    Bench whole(set.load(), options);
    ASSERT_EQ(whole.run().verdict, Verdict::kOk);
    set.options.stream_above = 0;
    set.options.stream_reach = reach;
    Bench streamed(set.load(), options);
    ASSERT_FALSE(streamed.workload.streaming.empty());
    ASSERT_EQ(streamed.run().verdict, Verdict::kOk);
    EXPECT_EQ(shown_all(streamed.rows.operations_), shown_all(whole.rows.operations_)) << "reach " << reach;
    EXPECT_EQ(shown_all(streamed.rows.messages_), shown_all(whole.rows.messages_)) << "reach " << reach;
    EXPECT_EQ(streamed.rows.operations_.size(), 3u * 3 * 300);
  }
}

TEST(StreamedRun, FailsWhenAFileIsNotWhatItWas) {
  TraceSet set({{compute(1, "a").micros(5), compute(2, "b").micros(5).after({1})}});
  set.options.stream_above = 0;
  set.options.stream_reach = 2;
  Bench bench(set.load(), {.iterations = 2});
  TraceSet::write(set.file(0), {compute(1, "a").micros(5)});
  const RunResult result = bench.run();
  EXPECT_EQ(result.verdict, Verdict::kFailed);
  EXPECT_THAT(result.reason, HasSubstr("w.0.et: the file has changed since it was read first"));
}

}  // namespace
}  // namespace rankwire
