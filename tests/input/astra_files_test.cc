#include "emulator/input/astra_files.h"

#include <gmock/gmock.h>

#include <fstream>
#include <functional>

#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kNetwork =
    "topology: [Ring, Switch]\nnpus_count: [4, 2]\nbandwidth: [50.5, 25]\nlatency: [500, 0]\n";

class AstraFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    const std::string file = (folder_ / "file").string();
    std::ofstream(file) << text;
    return file;
  }
  AstraNetwork network(const std::string& text) { return read_astra_network(write(text), warnings_); }
  AstraSystem system(const std::string& text) {
    const AstraNetwork two = network(kNetwork);
    return read_astra_system(write(text), two, warnings_);
  }
  AstraMemory memory(const std::string& text) { return read_astra_memory(write(text), warnings_); }

  static std::string error_of(const std::function<void()>& read) {
    try {
      read();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  Warnings warnings_;
};

TEST_F(AstraFiles, NetworkHasItsDimensions) {
  const AstraNetwork n = network(kNetwork);
  ASSERT_EQ(n.dimensions.size(), 2u);
  EXPECT_EQ(n.dimensions[0].block, AstraBlock::kRing);
  EXPECT_EQ(n.dimensions[1].block, AstraBlock::kSwitch);
  EXPECT_EQ(n.dimensions[0].bandwidth, 50.5);
  EXPECT_EQ(n.dimensions[0].latency, 500);
  EXPECT_EQ(n.npus(), 8u);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(AstraFiles, NetworkErrorsNameLineAndKey) {
  const auto wrong = [&](const std::string& text) { return error_of([&] { network(text); }); };
  EXPECT_THAT(wrong("topology: [Ring]\nnpus_count: [4, 2]\nbandwidth: [50]\nlatency: [500]\n"),
              HasSubstr("file:2: npus_count: has 2 entries, but topology has 1"));
  EXPECT_THAT(wrong("topology: [Torus]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n"),
              HasSubstr("file:1: topology: 'Torus' is not one of Ring, Switch, FullyConnected"));
  EXPECT_THAT(wrong("topology: [Ring]\nnpus_count: [1]\nbandwidth: [50]\nlatency: [500]\n"),
              HasSubstr("file:2: npus_count: 1 is outside 2"));
  EXPECT_THAT(wrong("topology: [Ring]\nnpus_count: [4]\nbandwidth: [0]\nlatency: [500]\n"),
              HasSubstr("file:3: bandwidth: must be positive"));
  EXPECT_THAT(wrong("topology: [Ring]\nnpus_count: [4]\nbandwidth: [fast]\nlatency: [500]\n"),
              HasSubstr("file:3: bandwidth: 'fast' is not a number"));
  EXPECT_THAT(wrong("topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\n"), HasSubstr("'latency' is missing"));
  EXPECT_THAT(wrong("topology: [Ring, Ring]\nnpus_count: [65536, 3]\nbandwidth: [5, 5]\nlatency: [5, 5]\n"),
              HasSubstr("more than 131072 NPUs"));
}

TEST_F(AstraFiles, SystemHasWhatItsKeysSay) {
  const AstraSystem s = system(R"({
	"scheduling-policy": "FIFO",
	"collective-optimization": "localBWAware",
	"preferred-dataset-splits": 4, "active-chunks-per-dimension": 2, "endpoint-delay": 25,
	"all-reduce-implementation": ["direct4", "doubleBinaryTree"],
	"all-gather-implementation": ["oneRing"],
	"local-mem-bw": 1600, "peak-perf": 900, "roofline-enabled": 1, "replay-only": 0,
	"boost-mode": 1, "sparkle": 3
})");
  EXPECT_TRUE(s.local_bandwidth_aware);
  EXPECT_EQ(s.splits, 4u);
  EXPECT_EQ(s.active_chunks, 2u);
  EXPECT_EQ(s.endpoint_delay, nanoseconds(25));
  using NamedAstra = AstraImplementation::Algorithm;
  EXPECT_THAT(s.implementations[0], ElementsAre(AstraImplementation{NamedAstra::kDirect, false, 4},
                                                AstraImplementation{NamedAstra::kDoubleBinaryTree, false, {}}));
  EXPECT_THAT(s.implementations[1], ElementsAre(AstraImplementation{NamedAstra::kRing, true, {}}));
  EXPECT_THAT(s.implementations[2], IsEmpty());
  EXPECT_EQ(s.memory_bandwidth, 1600);
  EXPECT_EQ(s.peak, 900);
  EXPECT_TRUE(s.roofline);
  EXPECT_FALSE(s.replay);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("file:8: 'sparkle' is no key that ASTRA-sim reads")));
}

TEST_F(AstraFiles, SystemErrorsNameLineAndKey) {
  const auto wrong = [&](const std::string& text) { return error_of([&] { system(text); }); };
  EXPECT_THAT(wrong("{\"endpoint-delay\": 1}"), HasSubstr("'preferred-dataset-splits' is missing"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 0}"),
              HasSubstr("file:1: preferred-dataset-splits: 0 is outside 1"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1,\n\"endpoint-delay\": 0}"),
              HasSubstr("file:2: endpoint-delay: must be at least 1"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1, \"scheduling-policy\": \"RANDOM\"}"),
              HasSubstr("scheduling-policy: 'RANDOM' is not one of LIFO, FIFO, EXPLICIT"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1, \"all-to-all-implementation\": [\"pairwise\"]}"),
              HasSubstr("all-to-all-implementation: 'pairwise' is not one of ring, oneRing, direct[K]"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1, \"all-to-all-implementation\": [\"direct0\"]}"),
              HasSubstr("'0' is not a window; write for example direct4"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1, \"all-gather-implementation\": [ring, ring, ring]}"),
              HasSubstr("all-gather-implementation: has 3 entries, but the network has 2 dimensions"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1, \"model-shared-bus\": 1}"),
              HasSubstr("model-shared-bus: is not honoured"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1, \"roofline-enabled\": 1}"), HasSubstr("needs 'peak-perf'"));
  EXPECT_THAT(wrong("{\"preferred-dataset-splits\": 1"), HasSubstr("file:"));
}

TEST_F(AstraFiles, MemoryHasItsKind) {
  EXPECT_EQ(memory("{\"memory-type\": \"NO_MEMORY_EXPANSION\"}").kind, AstraMemory::Kind::kNone);
  const AstraMemory m = memory(
      "{\"memory-type\": \"PER_NODE_MEMORY_EXPANSION\", \"remote-mem-latency\": 1000, \"remote-mem-bw\": 100,"
      " \"num-nodes\": 2, \"num-npus-per-node\": 4}");
  EXPECT_EQ(m.kind, AstraMemory::Kind::kPerNode);
  EXPECT_EQ(m.latency, microseconds(1));
  EXPECT_EQ(m.bandwidth, 100);
  EXPECT_EQ(m.nodes, 2u);
  EXPECT_EQ(m.npus_per_node, 4u);
  EXPECT_THAT(error_of([&] { memory("{\"memory-type\": \"CLOUD\"}"); }),
              HasSubstr("memory-type: 'CLOUD' is not one of"));
  EXPECT_THAT(error_of([&] { memory("{\"memory-type\": \"MEMORY_POOL\"}"); }), HasSubstr("'remote-mem-bw' is missing"));
}

}  // namespace
}  // namespace rankwire
