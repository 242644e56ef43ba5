#include "emulator/symmetry/message_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/symmetry/both_runs.h"

namespace rankwire {
namespace {

/// Both ends of a data message: identity, bytes, posted, acknowledged, delivered.
using Row = std::tuple<std::pair<uint64_t, uint64_t>, int64_t, int64_t, int64_t, int64_t>;

std::pair<uint64_t, uint64_t> words_of(const MessageId& id) {
  std::pair<uint64_t, uint64_t> words;
  std::memcpy(&words.first, &id, sizeof words.first);
  std::memcpy(&words.second, reinterpret_cast<const char*>(&id) + sizeof words.first, sizeof words.second);
  return words;
}

/// What a record hears of the messages of a whole run.
class WholeMessages final : public RecordSink {
 public:
  explicit WholeMessages(const BothRuns& runs) : runs_(runs) {}

  void operations(std::span<const OperationRecord>) noexcept override {}
  void messages(std::span<const MessageRecord> halves) noexcept override {
    for (const MessageRecord& half : halves) {
      if (!half.at_source) {
        delivered_[words_of(half.id)] = half.last;
        continue;
      }
      const Time delivered = delivered_.at(words_of(half.id));
      const ConnectionId connection = connection_of(half.id);
      if (flows_[connection].count() == 0) order_.push_back(connection);
      flows_[connection].add(delivered - half.first);
      if (half.id.control) continue;
      total_.add(delivered - half.first);
      rows_.emplace_back(words_of(half.id), half.bytes.count, half.first.ps, half.last.ps, delivered.ps);
    }
  }

  std::vector<Row> rows() const { return rows_; }
  const Histogram& total() const { return total_; }
  const Histogram& flow(ConnectionId connection) const { return flows_.at(connection); }
  /// Connections in the order in which their first messages were acknowledged.
  const std::vector<ConnectionId>& order() const { return order_; }

 private:
  ConnectionId connection_of(const MessageId& id) const {
    const auto& all = runs_.plan.transport.connections;
    const auto found = std::ranges::find_if(all, [&](const Connection& c) {
      const uint64_t group = c.group.valid() ? c.group.value : MessageId::kPointToPoint;
      return c.source.value == id.source && c.destination.value == id.destination && group == id.group &&
             c.channel == id.channel && c.control == (id.control != 0);
    });
    return found->id;
  }

  const BothRuns& runs_;
  std::map<std::pair<uint64_t, uint64_t>, Time> delivered_;
  std::map<ConnectionId, Histogram> flows_;
  std::vector<ConnectionId> order_;
  std::vector<Row> rows_;
  Histogram total_;
};

WholeMessages whole_messages(const BothRuns& runs) {
  WholeMessages messages(runs);
  NetworkModel model(runs.network);
  model.connect(model.prepare(runs.plan.transport));
  Engine engine(runs.workload, runs.plan, runs.options, messages);
  VirtualClock clock;
  EXPECT_EQ(run(engine, model, {}, clock, {}, kGoOn).verdict, Verdict::kOk);
  return messages;
}

Row row_of(const SampledMessage& m) {
  return {words_of(m.id), m.bytes.count, m.posted.ps, m.acked.ps, m.delivered.ps};
}

std::vector<std::tuple<int64_t, int64_t, uint64_t>> buckets_of(const Histogram& histogram) {
  std::vector<std::tuple<int64_t, int64_t, uint64_t>> buckets;
  histogram.for_each_bucket([&](const Histogram::Bucket& b) { buckets.emplace_back(b.low.ps, b.high.ps, b.count); });
  return buckets;
}

void expect_same(const Histogram& sampled, const Histogram& whole) {
  EXPECT_EQ(buckets_of(sampled), buckets_of(whole));
  EXPECT_EQ(sampled.min(), whole.min());
  EXPECT_EQ(sampled.mean(), whole.mean());
  EXPECT_EQ(sampled.max(), whole.max());
}

constexpr size_t kAll = SIZE_MAX;

// A sample without limits has every message of the whole run under its own name, and every histogram.
TEST(MessageSample, WithoutLimitsTellsEveryMessageOfTheWholeRun) {
  uint32_t folded_runs = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const BothRuns runs = random_step(seed);
    const auto reduced = quotient(runs.workload, runs.plan, runs.network);
    if (!reduced) continue;
    MessageSample sample(*reduced, {kAll, kAll});
    FoldedRun folded(*reduced, runs.options, &sample);
    if (!folded.run({}, kGoOn)) continue;
    ++folded_runs;
    const WholeMessages whole = whole_messages(runs);
    std::vector<Row> rows, expected = whole.rows();
    for (const SampledMessage& m : sample.slowest(runs.workload, runs.plan)) rows.push_back(row_of(m));
    std::ranges::sort(rows);
    std::ranges::sort(expected);
    EXPECT_TRUE(rows == expected) << "seed " << seed;
    expect_same(sample.total(), whole.total());
    std::vector<ConnectionId> flows, known = whole.order();
    sample.for_each_flow([&](const SampledFlow& flow) {
      flows.push_back(flow.connection);
      expect_same(flow.histogram, whole.flow(flow.connection));
    });
    std::ranges::sort(known);
    EXPECT_EQ(flows, known) << "seed " << seed;
  }
  EXPECT_GT(folded_runs, 20u) << "of 60";
}

// With limits it keeps the flows that a record keeps which hears of all messages, and as slow ones as there are.
TEST(MessageSample, KeepsTheFirstFlowsAndTheSlowestMessages) {
  uint32_t limited = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const BothRuns runs = random_step(seed);
    const auto reduced = quotient(runs.workload, runs.plan, runs.network);
    if (!reduced) continue;
    constexpr MessageSample::Limits kLimits{.flows = 5, .slowest = 7};
    MessageSample sample(*reduced, kLimits);
    FoldedRun folded(*reduced, runs.options, &sample);
    if (!folded.run({}, kGoOn)) continue;
    const WholeMessages whole = whole_messages(runs);
    if (whole.order().size() <= kLimits.flows || whole.rows().size() <= kLimits.slowest) continue;
    ++limited;
    std::vector<ConnectionId> flows, first(whole.order().begin(), whole.order().begin() + kLimits.flows);
    sample.for_each_flow([&](const SampledFlow& flow) { flows.push_back(flow.connection); });
    std::ranges::sort(first);
    EXPECT_EQ(flows, first) << "seed " << seed;

    const auto completion = [](const Row& row) { return std::get<4>(row) - std::get<2>(row); };
    std::vector<Row> expected = whole.rows(), rows;
    std::ranges::sort(expected);
    for (const SampledMessage& m : sample.slowest(runs.workload, runs.plan)) {
      rows.push_back(row_of(m));
      EXPECT_TRUE(std::ranges::binary_search(expected, rows.back())) << "seed " << seed;
    }
    ASSERT_EQ(rows.size(), kLimits.slowest);
    std::ranges::stable_sort(expected, std::greater<>(), completion);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(completion(rows[i]), completion(expected[i])) << "seed " << seed;
  }
  EXPECT_GT(limited, 20u) << "of 60";
}

}  // namespace
}  // namespace rankwire
