// Collectives alone on a star, as whole runs: the reference is the closed form, and packets take no less and hardly
// more.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "emulator/assembly/run.h"
#include "emulator/record/reader.h"
#include "tests/simulator/closed_form.h"
#include "tests/simulator/closed_form_trees.h"
#include "tests/temporary_folder.h"
#include "tests/workload/trace_set.h"

namespace rankwire {
namespace {

CollectiveKind kind_of(Operation operation) {
  switch (operation) {
    case Operation::kAllReduce:
      return CollectiveKind::kAllReduce;
    case Operation::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case Operation::kAllGather:
      return CollectiveKind::kAllGather;
    case Operation::kBroadcast:
      return CollectiveKind::kBroadcast;
    case Operation::kReduce:
      return CollectiveKind::kReduce;
    case Operation::kGather:
      return CollectiveKind::kGather;
    case Operation::kScatter:
      return CollectiveKind::kScatter;
    default:
      return CollectiveKind::kAllToAll;
  }
}

struct Times {
  Duration reference, twin;
};

/// On the network of star.h, with the members of each host, one behind the other, a port each; they meet in no time.
Times run(const ClosedCase& of, uint32_t members, Bytes input) {
  testing::TraceSet traces;
  for (uint32_t rank = 0; rank < members; ++rank)
    traces.add({testing::collective(1, "alone", kind_of(of.operation)).size(input.count)});
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "closed.yaml";
  const int64_t of_host = std::max<int64_t>(of.of_host, 1);
  std::ofstream(file) << fmt::format(
      "workload: {{traces: {}}}\nhosts: {{count: {}, npus: {}, nics: {}}}\nmapping: {{policy: block}}\n"
      "local: {{bandwidth: 64Tbps, latency: 0us}}\nports: {{count: {}, device: memory, rate: 100Gbps}}\n"
      "switch: {{latency: 1us, link_latency: 100ns, buffer: 256MiB}}\ncollectives: {{channels: 1, chunk: 1GiB, "
      "algorithms: {{{}: {}}}}}\nsimulation: {{ensemble: off, threads: 1}}\nrecord: {{messages: none}}\n",
      traces.options.traces.front(), members / of_host, of_host, of_host, members, to_string(of.operation),
      to_string(of.algorithm));
  const std::atomic<bool> stop{false};
  PreparedRun prepared(resolve(file, {}, RunKind::kTwin), {folder / "out"});
  for (const CompletedRun& done : prepared.run({stop})) EXPECT_EQ(done.result.verdict, Verdict::kOk);
  Time reference, twin;
  RunReader(folder / "out").for_each_operation([&](const OperationRow& row) {
    reference = std::max(reference, row.reference->end);
    twin = std::max(twin, row.emulated->end);
  });
  return {reference - Time(), twin - Time()};
}

class ClosedFormOfARun : public ::testing::TestWithParam<ClosedCase> {};

// A sender's operation ends with the acknowledgement of its last message, one way later.
TEST_P(ClosedFormOfARun, IsTheReferenceAndAlmostTheTwin) {
  const ClosedCase& of = GetParam();
  for (const uint32_t members : {2, 5, 16, 64})
    for (const int64_t block : {16, 20'000, 1'000'000}) {
      if (block * members > 8'000'000) continue;  // takes long
      SCOPED_TRACE(fmt::format("{} members, {} bytes of each", members, block));
      const Bytes input = closed_input(of, members, block);
      const ClosedForms form = of.form(members, input);
      const Duration expected = time_of(form) + kOneWay;
      const Times times = run(of, members, input);
      EXPECT_EQ(times.reference.ps, expected.ps);
      EXPECT_GE(times.twin.ps, expected.ps);
      EXPECT_LE(times.twin.ps, (expected + slack_of(form)).ps);
    }
}

/// Those whose messages grow, shrink or branch, of which some have a form for each of two bounds.
class ClosedFormOfATree : public ::testing::TestWithParam<ClosedCase> {};

TEST_P(ClosedFormOfATree, HoldsTheReferenceAndAlmostTheTwin) {
  const ClosedCase& of = GetParam();
  for (const uint32_t members : {6, 16})
    for (const int64_t block : {16, 20'000}) {
      SCOPED_TRACE(fmt::format("{} members, {} bytes of each", members, block));
      const Bytes input = closed_input(of, members, block);
      const ClosedForms form = of.form(members, input);
      const Duration least = of.least_time(members, input) + kOneWay, most = time_of(form) + kOneWay;
      const Times times = run(of, members, input);
      EXPECT_GE(times.reference.ps, least.ps);
      EXPECT_LE(times.reference.ps, most.ps);
      EXPECT_GE(times.twin.ps, (least - ahead_of(of.shortest(members, input))).ps);
      EXPECT_LE(times.twin.ps, (most + slack_of(form)).ps);
    }
}

/// What does not look at hosts.
std::vector<ClosedCase> trees() {
  std::vector<ClosedCase> cases = closed_tree_cases();
  std::erase_if(cases, [](const ClosedCase& of) { return of.of_host > 0; });
  return cases;
}

constexpr int64_t kOfHost = 4;

/// Of what goes over the wire alone: what members of a host hand to each other takes no more than `handed_over` does on
/// their interconnect.
struct OnHosts {
  ClosedCase of;
  std::function<Bytes(int64_t members, Bytes input)> handed_over;
};

void PrintTo(const OnHosts& hosts, std::ostream* out) {
  *out << hosts.of.name;
}

std::string name_on_hosts(const ::testing::TestParamInfo<OnHosts>& info) {
  return info.param.of.name;
}

class ClosedFormOnHosts : public ::testing::TestWithParam<OnHosts> {};

TEST_P(ClosedFormOnHosts, IsTheReferenceAndAlmostTheTwin) {
  const ClosedCase& of = GetParam().of;
  for (const uint32_t members : {8, 16})
    for (const int64_t block : {16, 20'000}) {
      SCOPED_TRACE(fmt::format("{} members, {} bytes of each", members, block));
      const Bytes input = closed_input(of, members, block);
      const ClosedForms form = of.form(members, input);
      const Duration expected = time_of(form) + kOneWay;
      const Bytes handed_over = GetParam().handed_over(members, input);
      const Duration local = serialization_time(handed_over, Bandwidth(64'000'000'000'000)) + Duration(members);
      const Times times = run(of, members, input);
      EXPECT_GE(times.reference.ps, (time_of(not_rounded(form)) + kOneWay).ps);
      EXPECT_LE(times.reference.ps, (expected + local).ps);
      EXPECT_GE(times.twin.ps, expected.ps);
      EXPECT_LE(times.twin.ps, (expected + local + slack_of(form)).ps);
    }
}

std::vector<OnHosts> on_hosts() {
  // Round the ring of hosts, and then what a member has of all of them to the others of its host.
  const ClosedCase all_gather{"all_gather_hierarchical",
                              Operation::kAllGather,
                              Algorithm::kHierarchical,
                              [](int64_t n, Bytes s) {
                                return ClosedForms{{n / kOfHost - 1, 1, s}};
                              },
                              nullptr,
                              kOfHost};
  // To each other host the blocks of all members of this one for the member of the same index.
  const ClosedCase pxn{
      "all_to_all_pxn",
      Operation::kAllToAll,
      Algorithm::kPxn,
      [](int64_t n, Bytes s) {
        const Bytes block(s.count / n);
        const int64_t sent = (n / kOfHost - 1) * kOfHost;
        return ClosedForms{{1, sent, block, 0, Bytes(line_size(block, Star::framing()).count * (sent - 1))}};
      },
      nullptr,
      kOfHost};
  return {{all_gather, [](int64_t n, Bytes s) { return Bytes(s.count * n); }},
          {pxn, [](int64_t, Bytes s) { return Bytes(s.count * kOfHost); }}};
}

INSTANTIATE_TEST_SUITE_P(Trees, ClosedFormOfATree, ::testing::ValuesIn(trees()), case_name);
INSTANTIATE_TEST_SUITE_P(Hosts, ClosedFormOnHosts, ::testing::ValuesIn(on_hosts()), name_on_hosts);
INSTANTIATE_TEST_SUITE_P(Collectives, ClosedFormOfARun, ::testing::ValuesIn(closed_cases()), case_name);

}  // namespace
}  // namespace rankwire
