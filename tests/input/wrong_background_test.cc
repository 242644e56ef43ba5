// What a person reads who wrote the background of a configuration wrong, and what is read of one that is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "base/message.h"
#include "emulator/input/config.h"
#include "emulator/input/size_table.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct WrongBackground {
  const char* name;
  std::string entries;  ///< the list below `background:`; `OK` stands for keys that are right but for the name
  const char* error;    ///< after the file
};

std::string many_entries(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("  - {{name: b{}, OK}}\n", i);
  return text;
}

const WrongBackground kWrongBackgrounds[] = {
    {"NoName", "  - {OK}\n", ":2: background[0]: 'name' is required"},
    {"NameTwice", "  - {name: a, OK}\n  - {name: a, OK}\n",
     ":3: background[1].name: 'a' is the name of background[0] already"},
    {"NoPattern", "  - {name: a, to: p1, size: 1KiB, rate: 1Gbps}\n", ":2: background[0]: 'pattern' is required"},
    {"UnknownPattern", "  - {name: a, pattern: ring, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].pattern: 'ring' is not one of pairs, all_to_all, permutation, incast, random_pairs"},
    {"UnknownKey", "  - {name: a, OK, bursts: {on: 1us}}\n",
     ":2: key 'background[0].bursts' is unknown; did you mean 'background[0].burst'?"},
    {"NoSize", "  - {name: a, pattern: incast, to: p1, rate: 1Gbps}\n", ":2: background[0]: 'size' is required"},
    {"SizeWithoutUnit", "  - {name: a, pattern: incast, to: p1, size: 64, rate: 1Gbps}\n",
     ":2: background[0].size: '64' has no unit; write for example 64KiB; or a distribution: web_search, storage, or a "
     "file FILE.csv"},
    {"SizeInNoFile", "  - {name: a, pattern: incast, to: p1, size: /nowhere/sizes.csv, rate: 1Gbps}\n",
     ":2: background[0].size: /nowhere/sizes.csv: cannot be read: No such file or directory"},
    {"NoLoop", "  - {name: a, pattern: incast, to: p1, size: 1KiB}\n",
     ":2: background[0]: needs 'rate', by which each flow sends, or 'outstanding', the messages that it waits for"},
    {"FasterThanAnyPort", "  - {name: a, pattern: incast, to: p1, size: 1KiB, rate: 64Tbps}\n",
     ":2: background[0].rate: is more than the 10 Gbit/s of port 'p0', and no port is faster"},
    {"BothLoops", "  - {name: a, OK, outstanding: 2}\n",
     ":2: background[0].outstanding: contradicts 'rate', by which a flow sends whatever becomes of its messages; give "
     "one of them"},
    {"ArrivalsOfAClosedLoop", "  - {name: a, pattern: incast, to: p1, size: 1KiB, outstanding: 1, arrivals: poisson}\n",
     ":2: background[0].arrivals: needs 'rate'; with 'outstanding' a flow sends when a message has arrived"},
    {"BacklogOfAClosedLoop", "  - {name: a, pattern: incast, to: p1, size: 1KiB, outstanding: 1, backlog: 2}\n",
     ":2: background[0].backlog: needs 'rate'; with 'outstanding' that is the most"},
    {"StopBeforeStart", "  - {name: a, OK, start: 2ms, stop: 1ms}\n", ":2: background[0].stop: is not after 'start'"},
    {"StartAfterTheEnd", "  - {name: a, OK, start: 700s}\n",
     ":2: background[0].start: 700s is not before run.deadline 600s, so that nothing would be sent"},
    {"NegativeStart", "  - {name: a, OK, start: -5us}\n", ":2: background[0].start: '-5us' is negative"},
    {"HalfABurst", "  - {name: a, OK, burst: {on: 1us}}\n", ":2: background[0].burst: 'off' is required"},
    {"RandomPairsWithoutNumber", "  - {name: a, pattern: random_pairs, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0]: 'pattern: random_pairs' needs 'pairs', how many to draw"},
    {"PairsOfAnother", "  - {name: a, OK, pairs: 3}\n", ":2: background[0].pairs: is for 'pattern: random_pairs'"},
    {"PairsWithoutTo", "  - {name: a, pattern: pairs, from: p0, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0]: 'pattern: pairs' needs 'from' and 'to'"},
    {"UnequalPairs", "  - {name: a, pattern: pairs, from: [p0, p1], to: p1, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].to: has 1 ends and 'from' has 2: the n-th sends to the n-th"},
    {"PermutationTo", "  - {name: a, pattern: permutation, to: p1, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].to: is not for 'pattern: permutation', whose senders receive as well"},
    {"PermutationOfOne", "  - {name: a, pattern: permutation, from: p1, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].from: has one end, and a permutation needs two"},
    {"IncastToTwo", "  - {name: a, pattern: incast, to: [p0, p1], size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].to: 'pattern: incast' needs one end as 'to'; there are 2"},
    {"HostThatIsNotThere", "  - {name: a, pattern: incast, to: 2, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].to[0]: there is no host 2; there are hosts 0 .. 1"},
    {"PortThatIsNotThere", "  - {name: a, pattern: incast, from: [p0, p7], to: p1, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].from[1]: 'p7' is neither the name of a port nor the number of a host; ports are p0 .. p1"},
    {"EndTwice", "  - {name: a, pattern: incast, from: [p0, p0], to: p1, size: 1KiB, rate: 1Gbps}\n",
     ":2: background[0].from[1]: names 'p0' twice"},
    {"TooMany", many_entries(MessageId::kMaxJobs),
     ":1: background: 128 entries beside 1 jobs are more than 128 together"},
};

void PrintTo(const WrongBackground& wrong, std::ostream* out) {
  *out << wrong.name;
}

/// A configuration with two ports and the entries, in the folder.
std::filesystem::path written(const std::filesystem::path& folder, std::string entries, const std::string& more) {
  const std::string stands_for = "OK", right = "pattern: incast, to: p1, size: 1KiB, rate: 1Gbps";
  for (size_t at = entries.find(stands_for); at != std::string::npos; at = entries.find(stands_for, at + right.size()))
    entries.replace(at, stands_for.size(), right);
  const std::filesystem::path file = folder / "run.yaml";
  std::ofstream(file) << "background:\n" << entries << "workload: {traces: t}\nports: {count: 2}\n" << more;
  return file;
}

std::string background_error(const std::filesystem::path& file) {
  try {
    load_config(file, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

class WrongBackgroundConfig : public ::testing::TestWithParam<WrongBackground> {};

TEST_P(WrongBackgroundConfig, IsToldWithFileLineAndKey) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = written(folder.path(), GetParam().entries, "");
  EXPECT_EQ(background_error(file), file.string() + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(Background, WrongBackgroundConfig, ::testing::ValuesIn(kWrongBackgrounds),
                         [](const auto& test) { return test.param.name; });

TEST(BackgroundConfig, RefusesWhoCannotCarryIt) {
  const testing::TemporaryFolder folder;
  const auto error_with = [&](const std::string& more) {
    return background_error(written(folder.path(), "  - {name: a, OK}\n", more));
  };
  EXPECT_THAT(error_with("simulation: {fidelity: astra, astra: {network: n.yml, system: s.json}}\n"),
              HasSubstr(":1: background: 'simulation.fidelity: astra' knows nothing of it; take flow or the twin"));
}

// Of an RDMA device queue pairs have a DSCP, and packets no priority of their own.
TEST(BackgroundConfig, RdmaDevicesCarryItWithoutPriorities) {
  const testing::TemporaryFolder folder;
  const auto error_with =
      [&](const std::string& marking) {
        std::ofstream(folder / "rdma.yaml")
            << "background:\n  - {name: a, pattern: all_to_all, size: 1KiB, rate: 1Gbps, transport: {" << marking
            << "}}\n"
            << "workload: {traces: t}\nports: [{name: p0, verbs: rxe0}, {name: p1, verbs: rxe1}]\n";
        return background_error(folder / "rdma.yaml");
      };
  EXPECT_EQ(error_with("dscp: 8"), "none");
  EXPECT_THAT(
      error_with("dscp: 8, priority: 1"),
      HasSubstr(":2: background[0].transport.priority: port 'p0' is an RDMA device, which gives all packets the "
                "priority of transport.verbs.sl"));
}

TEST(BackgroundConfig, ANameIsNotThatOfAJob) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "run.yaml") << "jobs:\n  - {name: a, workload: {traces: t}}\n"
                                        "background:\n  - {name: a, pattern: all_to_all, size: 1KiB, rate: 1Gbps}\n"
                                        "ports: {count: 2}\n";
  EXPECT_THAT(background_error(folder / "run.yaml"),
              HasSubstr(":4: background[0].name: 'a' is the name of jobs[0] already"));
}

TEST(BackgroundConfig, IsReadAndPrinted) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / "sizes.csv") << "# sizes\nbytes,cumulative\n\n100,0.25\n300,1\n";
  const std::filesystem::path file = written(
      folder.path(),
      "  - {name: a, pattern: pairs, from: [0, p0], to: [p1, 1], size: sizes.csv, rate: 2Gbps, arrivals: poisson,\n"
      "     backlog: 3, start: 1us, stop: 2ms, burst: {on: 5us, off: 7us}, transport: {dscp: 8, priority: 1}}\n"
      "  - {name: b, pattern: random_pairs, pairs: 4, size: web_search, outstanding: 2}\n",
      "");
  const RunConfig first = load_config(file, {});
  // The resolved configuration says the same.
  std::ofstream(folder / "resolved.yaml") << resolved_json(first);
  for (const RunConfig& config : {first, load_config(folder / "resolved.yaml", {})}) {
    ASSERT_EQ(config.background.size(), 2u);
    const BackgroundConfig &a = config.background[0], &b = config.background[1];
    EXPECT_EQ(a.pattern, BackgroundPatternName::kPairs);
    EXPECT_THAT(a.from, ElementsAre("0", "p0"));
    EXPECT_THAT(a.to, ElementsAre("p1", "1"));
    EXPECT_EQ(a.size.file, (folder / "sizes.csv").string());
    EXPECT_EQ(a.rate, Bandwidth(2'000'000'000));
    EXPECT_TRUE(a.poisson);
    EXPECT_EQ(a.backlog, 3u);
    EXPECT_EQ(a.start, microseconds(1));
    EXPECT_EQ(a.stop, milliseconds(2));
    ASSERT_TRUE(a.burst);
    EXPECT_EQ(a.burst->on, microseconds(5));
    EXPECT_EQ(a.burst->off, microseconds(7));
    EXPECT_EQ(a.marking.dscp, 8u);
    EXPECT_EQ(a.marking.priority, 1u);
    EXPECT_EQ(b.size.published, "web_search");
    EXPECT_EQ(b.pairs, 4u);
    EXPECT_EQ(b.outstanding, 2u);
    EXPECT_THAT(b.from, IsEmpty());
    EXPECT_FALSE(b.rate || b.stop || b.burst || b.marking.dscp);
  }
  EXPECT_THAT(read_size_table(folder / "sizes.csv"), ElementsAre(SizePoint{Bytes(100), SizeDistribution::kWhole / 4},
                                                                 SizePoint{Bytes(300), SizeDistribution::kWhole}));
}

TEST(SizeTable, AWrongOneIsToldWithItsLine) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder / "sizes.csv";
  const auto error_with = [&](const char* text) {
    std::ofstream(file) << text;
    try {
      read_size_table(file);
    } catch (const Error& error) {
      return std::string(error.what()).substr(file.string().size());
    }
    return std::string("none");
  };
  EXPECT_EQ(error_with(""), ": the table of sizes has no points");
  EXPECT_EQ(error_with("size,part\n"), ":1: 'size,part' is not the first line 'bytes,cumulative'");
  EXPECT_EQ(error_with("bytes,cumulative\n100\n"),
            ":2: '100' is not a number of bytes, a comma and a part of 1, as in 4000,0.25");
  EXPECT_THAT(error_with("bytes,cumulative\n1KB,1\n"), HasSubstr(":2: '1KB'"));
  EXPECT_EQ(error_with("bytes,cumulative\n2147483648,1\n"), ":2: bytes: 2147483648 is above 2147483647");
  EXPECT_EQ(error_with("bytes,cumulative\n100,25\n"), ":2: cumulative: '25' is not 0 .. 1 with at most nine decimals");
  EXPECT_EQ(error_with("bytes,cumulative\n100,0.5\n99,1\n"), ":3: bytes: 99 is below 100 of the point before");
  EXPECT_EQ(error_with("bytes,cumulative\n100,0.5\n200,0.4\n"),
            ":3: cumulative: '0.4' is below that of the point before");
  EXPECT_EQ(error_with("bytes,cumulative\n100,0.5\n"),
            ":2: cumulative: the last point must be 1: no message is larger");
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_EQ(error_with(""), ": is a directory, not a table of sizes");
}

}  // namespace
}  // namespace rankwire
