// What a person reads who wrote the jobs of a configuration wrong, and what is read of those that are right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <ostream>
#include <string>

#include "base/message.h"
#include "emulator/input/config.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;

struct WrongJobs {
  const char* name;
  std::string text;   ///< `JOB` stands for a workload that is right, `PLACE` for the places of its two ranks
  const char* error;  ///< after the folder
};

std::string many_jobs(size_t count) {
  std::string text = "jobs:\n";
  for (size_t job = 0; job < count; ++job) text += fmt::format("  - {{name: j{}, JOB}}\n", job);
  return text;
}

const WrongJobs kWrongJobs[] = {
    {"NoJobs", "jobs: []\n", ":1: jobs: has no jobs"},
    {"NoList", "jobs: {name: a}\n", ":1: jobs: must be a list"},
    {"NoMap", "jobs:\n  - a\n", ":2: jobs[0]: must be a map of keys"},
    {"TooMany", many_jobs(MessageId::kMaxJobs + 1), ":1: jobs: has 129 jobs, the most is 128"},
    {"BesideAWorkload", "jobs: [{name: a, JOB}]\nworkload: {traces: t}\n",
     ":2: workload: contradicts 'jobs', each of which has a workload of its own; give one of them"},
    {"NoName", "jobs:\n  - {JOB}\n", ":2: jobs[0]: 'name' is required"},
    {"EmptyName", "jobs:\n  - {name: \"\", JOB}\n", ":2: jobs[0].name: is empty"},
    {"NameOfNobody", "jobs:\n  - {name: none, JOB}\n", ":2: jobs[0].name: 'none' stands for no job in 'after'"},
    {"NameTwice", "jobs:\n  - {name: a, JOB}\n  - {name: a, JOB}\n",
     ":3: jobs[1].name: 'a' is the name of jobs[0] already"},
    {"NoWorkload", "jobs:\n  - {name: a}\n", ":2: jobs[0]: 'workload' is required"},
    {"EmptyWorkload", "jobs:\n  - {name: a, workload: {iterations: 2}}\n",
     ":2: jobs[0].workload: needs 'traces' or 'generate'"},
    {"TwoWorkloads", "jobs:\n  - name: a\n    workload:\n      generate: {layers: 2}\n      traces: t\n",
     ":5: jobs[0].workload.traces: contradicts jobs[0].workload.generate; give one of them"},
    {"GeneratedInParts", "jobs:\n  - {name: a, workload: {generate: {layers: 3, pipeline_parallel: 2}}}\n",
     ":2: jobs[0].workload.generate.layers: 3 is not a multiple of pipeline_parallel 2"},
    {"UnknownKey", "jobs:\n  - {name: a, JOB, strat: 1us}\n",
     ":2: key 'jobs[0].strat' is unknown; did you mean 'jobs[0].start'?"},
    {"UnknownKeyOfItsWorkload", "jobs:\n  - {name: a, workload: {traces: t, iteration: 2}}\n",
     ":2: key 'jobs[0].workload.iteration' is unknown; did you mean 'jobs[0].workload.iterations'?"},
    {"UnknownKeyOfItsTransport", "jobs:\n  - {name: a, JOB, transport: {window: 2}}\n",
     ":2: key 'jobs[0].transport.window' is unknown; the keys here are dscp, priority, congestion_control"},
    {"StartWithoutUnit", "jobs:\n  - {name: a, JOB, start: 5}\n",
     ":2: jobs[0].start: '5' has no unit; write for example 5us"},
    {"AfterNobody", "jobs:\n  - {name: a, JOB}\n  - {name: b, JOB, after: c}\n",
     ":3: jobs[1].after: 'c' is not the name of a job; the jobs are a, b"},
    {"AfterItself", "jobs:\n  - {name: a, JOB, after: a}\n",
     ":2: jobs[0].after: is a circle, which never begins: a after a"},
    {"AfterEachOther",
     "jobs:\n  - {name: a, JOB, after: b}\n  - {name: b, JOB, after: c}\n  - {name: c, JOB, after: b}\n",
     ":3: jobs[1].after: is a circle, which never begins: b after c after b"},
    {"StartAfterTheEnd", "jobs:\n  - {name: a, JOB}\n  - {name: b, JOB, start: 600s}\n",
     ":3: jobs[1].start: 'b' would begin 600s after the beginning of the run, and run.deadline ends it after 600s"},
    {"StartsThatAddUp",
     "jobs:\n  - {name: a, JOB, after: b}\n  - name: b\n    JOB\n    after: c\n    start: 3ms\n"
     "  - {name: c, JOB, start: 2ms}\nrun: {deadline: 4ms}\n",
     ":6: jobs[1].start: 'b' would begin at the earliest 5ms after the beginning of the run, and run.deadline ends it "
     "after 4ms"},
    {"AllIdle", "jobs: [{name: a, JOB, idle: on}]\n", ":1: jobs: are all idle, so that nothing would run"},
    {"AfterAnIdleOne", "jobs:\n  - {name: a, JOB, idle: on}\n  - {name: b, JOB, after: a}\n",
     ":3: jobs[1].after: 'a' is idle and never ends; write 'after: none' and a 'start'"},
    {"HostThatIsNotThere", "jobs:\n  - {name: a, JOB, hosts: [0, 2]}\n",
     ":2: jobs[0].hosts[1]: there is no host 2; there are hosts 0 .. 1"},
    {"HostTwice", "jobs:\n  - {name: a, JOB, hosts: [1, 1]}\n", ":2: jobs[0].hosts[1]: names host 1 twice"},
    {"HostsOfExplicitPlaces", "jobs:\n  - {name: a, JOB, hosts: [1], mapping: {policy: explicit, PLACE}}\n",
     ":2: jobs[0].hosts: contradicts 'mapping.policy: explicit', which names the host of each rank"},
    {"NpuTwice",
     "jobs:\n  - {name: a, JOB, mapping: {policy: explicit, PLACE}}\n  - name: b\n    JOB\n    share: on\n"
     "    mapping: {policy: explicit, PLACE}\n",
     ":6: jobs[1].mapping.ranks[0].npu: NPU 0 of host 0 already holds rank 0 of job 'a'; with 'share: on' in both jobs "
     "it may hold both"},
    {"NpuTwiceInAJob",
     "jobs:\n  - name: a\n    JOB\n    share: on\n    mapping:\n      policy: explicit\n      ranks:\n"
     "        - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n        - {rank: 1, host: 0, npu: 0, nic: 0, port: p0}\n",
     ":9: jobs[0].mapping.ranks[1].npu: NPU 0 of host 0 already holds rank 0"},
    {"NicOfTwoPorts",
     "jobs:\n  - {name: a, JOB, mapping: {policy: explicit, PLACE}}\n  - name: b\n    JOB\n    mapping:\n"
     "      policy: explicit\n      ranks:\n        - {rank: 0, host: 0, npu: 1, nic: 0, port: p1}\n"
     "        - {rank: 1, host: 1, npu: 1, nic: 0, port: p1}\n",
     ":8: jobs[1].mapping.ranks[0].port: NIC 0 of host 0 already stands behind port 'p0'"},
    {"RankOutOfRange",
     "jobs:\n  - name: a\n    JOB\n    mapping:\n      policy: explicit\n      ranks:\n"
     "        - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n        - {rank: 1, host: 1, npu: 0, nic: 0, port: p1}\n"
     "        - {rank: 2, host: 1, npu: 1, nic: 0, port: p1}\n",
     ":6: jobs[0].mapping.ranks: workload.generate makes only 2 ranks"},
    {"RankMissing",
     "jobs:\n  - name: a\n    JOB\n    mapping:\n      policy: explicit\n      ranks:\n"
     "        - {rank: 0, host: 0, npu: 0, nic: 0, port: p0}\n",
     ":6: jobs[0].mapping.ranks: rank 1 is missing"},
    {"PlacesWithoutPolicy", "jobs:\n  - {name: a, JOB, mapping: {PLACE}}\n",
     ":2: jobs[0].mapping.ranks: needs 'policy: explicit'"},
    {"PlacesForAll", "jobs:\n  - {name: a, JOB}\nmapping: {policy: explicit, PLACE}\n",
     ":3: mapping.policy: 'explicit' names ranks of one workload; give each of the jobs its own 'mapping'"},
    {"ChannelsOfNccl", "jobs:\n  - {name: a, JOB, collectives: {channels: 2}}\ncollectives: {profile: nccl}\n",
     ":2: jobs[0].collectives.channels: contradicts 'collectives.profile: nccl'"},
    {"AlgorithmThatNcclHasNot",
     "jobs:\n  - {name: a, JOB, collectives: {algorithms: {all_to_all: bruck}}}\ncollectives: {profile: nccl}\n",
     ":2: jobs[0].collectives.algorithms.all_to_all: 'profile: nccl' has auto"},
    {"InNetworkOfOneJob", "jobs:\n  - {name: a, JOB, collectives: {algorithms: {all_reduce: in_network}}}\n",
     ":2: jobs[0].collectives.algorithms.all_reduce: 'in_network' is for all of a run"},
    {"Dscp", "jobs:\n  - {name: a, JOB, transport: {dscp: 64}}\n", ":2: jobs[0].transport.dscp: 64 is outside 0 .. 63"},
    {"StaticWithoutRate", "jobs:\n  - {name: a, JOB, transport: {congestion_control: {algorithm: static}}}\n",
     ":2: jobs[0].transport.congestion_control.algorithm: 'static' needs 'rate', that of each queue pair"},
    {"ReactionThatContradictsItself",
     "jobs:\n  - name: a\n    JOB\n    transport:\n      congestion_control:\n        rp_max_rate: 1Gbps\n"
     "        rp_min_rate: 2Gbps\n",
     ":7: jobs[0].transport.congestion_control.rp_min_rate: 2000000000 bit/s is above rp_max_rate 1000000000 bit/s"},
    {"NotificationOfOneJob",
     "jobs:\n  - {name: a, JOB, transport: {congestion_control: {algorithm: dcqcn, np_enable: on}}}\n",
     ":2: key 'jobs[0].transport.congestion_control.np_enable' is unknown; the keys here are algorithm, preset, rate, "
     "rp_clamp_tgt_rate"},
    {"WindowsOfReads",
     "jobs:\n  - {name: a, JOB, transport: {congestion_control: {algorithm: swift}}}\ntransport: {verb: read}\n",
     ":2: jobs[0].transport.congestion_control.algorithm: 'dctcp' and 'swift' follow acknowledgements"},
    {"Color", "jobs:\n  - {name: a, JOB, color: blue}\n",
     ":2: jobs[0].color: 'blue' is not a colour; write for example \"#3366cc\""},
    {"JobsOfAstra", "jobs:\n  - {name: a, JOB}\nsimulation: {fidelity: astra}\n",
     ":1: jobs: 'simulation.fidelity: astra' runs one workload"},
};

void PrintTo(const WrongJobs& wrong, std::ostream* stream) {
  *stream << wrong.name;
}

void put(std::string& text, const std::string& word, const std::string& meant) {
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += meant.size())
    text.replace(at, word.size(), meant);
}

/// A file with two ports behind the text.
std::string write(const std::filesystem::path& file, std::string text) {
  put(text, "JOB", "workload: {generate: {layers: 2, tensor_parallel: 1, data_parallel: 2}}");
  put(text, "PLACE",
      "ranks: [{rank: 0, host: 0, npu: 0, nic: 0, port: p0}, {rank: 1, host: 1, npu: 0, nic: 0, port: p1}]");
  std::ofstream(file) << text << "ports: {count: 2, device: memory}\n";
  return text;
}

class WrongJobsConfig : public ::testing::TestWithParam<WrongJobs> {};

TEST_P(WrongJobsConfig, IsExplained) {
  const testing::TemporaryFolder folder;
  const std::string file = folder / "wrong.yaml";
  const std::string text = write(file, GetParam().text);
  try {
    load_config(file, {});
    FAIL() << "accepted:\n" << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    const std::string message = error.what();
    EXPECT_TRUE(message.starts_with(file + ":")) << message;
    EXPECT_NE(message.find(GetParam().error), std::string::npos) << message << "\nis not\n" << GetParam().error;
  }
}

INSTANTIATE_TEST_SUITE_P(Jobs, WrongJobsConfig, ::testing::ValuesIn(kWrongJobs),
                         [](const auto& instance) { return instance.param.name; });

class JobsConfig : public ::testing::Test {
 protected:
  RunConfig load(const std::string& text, const std::vector<std::string>& settings = {}) {
    write(folder_ / "jobs.yaml", text);
    return load_config(folder_ / "jobs.yaml", settings);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(JobsConfig, HasWhatIsWritten) {
  const RunConfig config = load(
      "jobs:\n  - {name: a, JOB, start: 2ms, hosts: 1, share: on, color: \"#12AB34\"}\n"
      "  - name: b\n    workload: {traces: [x.0.et, x.1.et], iterations: 3}\n    after: a\n"
      "    mapping: {policy: block}\n    collectives: {channels: 4, chunk: 1KiB, algorithms: {all_reduce: direct}}\n"
      "    transport: {dscp: 12, priority: 3, congestion_control: {algorithm: static, rate: 2Gbps}}\n");
  ASSERT_EQ(config.jobs.size(), 2u);
  const JobConfig &a = config.jobs[0], &b = config.jobs[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.workload.generate->transformer.layers, 2u);
  EXPECT_EQ(a.start, milliseconds(2));
  EXPECT_EQ(a.after, "");
  EXPECT_THAT(a.hosts, ElementsAre(1));
  EXPECT_TRUE(a.share);
  EXPECT_EQ(a.color, "#12AB34");
  EXPECT_FALSE(a.mapping.has_value());
  EXPECT_EQ(a.collectives.algorithms[static_cast<size_t>(Operation::kAllReduce)].algorithm, Algorithm::kAuto);
  EXPECT_EQ(b.after, "a");
  EXPECT_EQ(b.start, Duration());
  EXPECT_EQ(b.workload.iterations, 3u);
  EXPECT_THAT(b.workload.traces, ElementsAre(folder_ / "x.0.et", folder_ / "x.1.et"));
  EXPECT_EQ(b.mapping->policy, MappingPolicy::kBlock);
  EXPECT_EQ(b.collectives.channels, 4u);
  EXPECT_EQ(b.collectives.chunk, Bytes(1024));
  EXPECT_EQ(b.collectives.algorithms[static_cast<size_t>(Operation::kAllReduce)].algorithm, Algorithm::kDirect);
  EXPECT_EQ(b.marking.dscp, 12u);
  EXPECT_EQ(b.marking.priority, 3u);
  EXPECT_FALSE(a.congestion.has_value());
  EXPECT_EQ(b.congestion->algorithm, AlgorithmName::kStatic);
  EXPECT_EQ(b.congestion->rate, Bandwidth(2'000'000'000));
  EXPECT_TRUE(b.place.ends_with("jobs.yaml:3")) << b.place;
}

TEST_F(JobsConfig, ResolvedIsValidAndSaysTheSame) {
  const std::string resolved =
      resolved_json(load("jobs:\n  - {name: a, JOB, transport: {dscp: 1, congestion_control: {algorithm: swift}}}\n  - "
                         "{name: b, JOB, after: a, mapping: {policy: block}}\n"));
  std::ofstream(folder_ / "resolved.yaml") << resolved;
  EXPECT_EQ(resolved_json(load_config(folder_ / "resolved.yaml", {})), resolved);
  EXPECT_EQ(resolved.find("\"workload\": {\n    \"traces\""), std::string::npos) << "there is none at top level";
}

TEST_F(JobsConfig, SettingsReachIntoJobs) {
  const RunConfig config = load("jobs:\n  - {name: a, JOB}\n  - {name: b, JOB}\n",
                                {"jobs[1].start=3us", "jobs[0].workload.generate.layers=6"});
  EXPECT_EQ(config.jobs[1].start, microseconds(3));
  EXPECT_EQ(config.jobs[0].workload.generate->transformer.layers, 6u);
}

TEST_F(JobsConfig, AnNpuMayBeSharedByJobsThatBothSaySo) {
  EXPECT_NO_THROW(
      load("jobs:\n  - {name: a, JOB, share: on, mapping: {policy: explicit, PLACE}}\n"
           "  - {name: b, JOB, share: on, mapping: {policy: explicit, PLACE}}\n"));
}

}  // namespace
}  // namespace rankwire
