#include "converters/msccl.h"

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "base/error.h"
#include "converters/msccl_flow.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Writes XML by the rules of the format: steps are numbered as they come.
class Xml {
 public:
  Xml(const char* coll, uint32_t gpus, uint32_t chunks, const char* more = "inplace=\"1\"") : gpus_(gpus) {
    text_ = fmt::format("<algo name=\"a\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"{}\" ngpus=\"{}\" ", chunks,
                        gpus);
    text_ += fmt::format("coll=\"{}\" {}>\n", coll, more);
  }

  Xml& gpu(uint32_t id, uint32_t scratch = 0) {
    end_block();
    if (id_ >= 0) text_ += " </gpu>\n";
    text_ += fmt::format(" <gpu id=\"{}\" i_chunks=\"0\" o_chunks=\"0\" s_chunks=\"{}\">\n", id, scratch);
    id_ = static_cast<int>(id);
    blocks_ = 0;
    return *this;
  }
  Xml& block(int send, int receive, int channel = 0) {
    end_block();
    text_ += fmt::format("  <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", blocks_++, send, receive, channel);
    in_block_ = true;
    steps_ = 0;
    return *this;
  }
  /// `from` and `to` are a buffer and an offset, such as "i3".
  Xml& step(const char* type, const std::string& from, const std::string& to, uint32_t count = 1, int depid = -1,
            int deps = -1) {
    text_ += fmt::format(
        "   <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
        "depid=\"{}\" deps=\"{}\" hasdep=\"0\"/>\n",
        steps_++, type, from[0], from.substr(1), to[0], to.substr(1), count, depid, deps);
    return *this;
  }
  std::string text() {
    end_block();
    return text_ + " </gpu>\n</algo>\n";
  }
  uint32_t gpus() const { return gpus_; }

 private:
  void end_block() {
    if (in_block_) text_ += "  </tb>\n";
    in_block_ = false;
  }

  std::string text_;
  uint32_t gpus_;
  int id_ = -1, blocks_ = 0, steps_ = 0;
  bool in_block_ = false;
};

std::string input(uint32_t offset) {
  return fmt::format("i{}", offset);
}

/// One thread block a GPU, which sends to the next one and receives from the one before: rank r sends its own chunk r,
/// adds and passes on n - 1 times, and from then on passes sums on.
Xml ring_all_reduce(uint32_t n) {
  Xml xml("allreduce", n, n);
  for (uint32_t r = 0; r < n; ++r) {
    xml.gpu(r).block(static_cast<int>((r + 1) % n), static_cast<int>((r + n - 1) % n));
    const auto chunk = [&](uint32_t back) { return input((r + 2 * n - back) % n); };
    xml.step("s", chunk(0), chunk(0));
    for (uint32_t k = 1; k + 1 < n; ++k) xml.step("rrs", chunk(k), chunk(k));
    xml.step("rrcs", chunk(n - 1), chunk(n - 1));
    for (uint32_t k = 0; k + 2 < n; ++k) xml.step("rcs", chunk(k), chunk(k));
    xml.step("r", chunk(n - 2), chunk(n - 2));
  }
  return xml;
}

/// Everyone sends chunk p of its input to p's scratch; p adds them up and sends the sum to all. Thread block 0 adds,
/// thread block 1 + k is for the k-th peer.
Xml all_pairs_all_reduce(uint32_t n) {
  Xml xml("allreduce", n, n);
  for (uint32_t r = 0; r < n; ++r) {
    xml.gpu(r, n - 1).block(-1, -1);
    for (uint32_t k = 0; k + 1 < n; ++k) xml.step("re", fmt::format("s{}", k), input(r), 1, static_cast<int>(k + 1), 1);
    for (uint32_t k = 0; k + 1 < n; ++k) {
      const uint32_t peer = (r + 1 + k) % n;
      xml.block(static_cast<int>(peer), static_cast<int>(peer));
      xml.step("s", input(peer), "s0").step("r", input(r), fmt::format("s{}", k));
      xml.step("s", input(r), input(r), 1, 0, static_cast<int>(n) - 2).step("r", input(peer), input(peer));
    }
  }
  return xml;
}

/// In step k everyone has 2^k parts and exchanges them with the rank whose bit k differs.
Xml recursive_doubling_all_gather(uint32_t n) {
  Xml xml("allgather", n, n);
  for (uint32_t r = 0; r < n; ++r) {
    xml.gpu(r);
    int round = 0;
    for (uint32_t bit = 1; bit < n; bit *= 2, ++round) {
      const uint32_t peer = r ^ bit, own = r / bit * bit, others = peer / bit * bit;
      xml.block(static_cast<int>(peer), static_cast<int>(peer));
      xml.step("s", fmt::format("o{}", own), fmt::format("o{}", own), bit, round - 1, round > 0 ? 1 : -1);
      xml.step("r", fmt::format("o{}", others), fmt::format("o{}", others), bit);
    }
  }
  return xml;
}

/// A converted algorithm, read back and run with one place for each chunk.
struct Algorithm {
  struct Node {
    bool sends = false, reduces = false;
    int64_t peer = 0, tag = 0, chunk = 0, count = 0, channel = 0, size = 0;
    std::vector<uint64_t> after;
  };
  std::map<std::string, std::string> metadata;
  std::vector<std::vector<Node>> ranks;
  /// By rank and chunk: the set of ranks whose data stands there.
  using State = std::vector<std::vector<uint64_t>>;

  explicit Algorithm(const Conversion& made) {
    for (uint32_t rank = 0; rank < made.ranks; ++rank) {
      TraceReader reader(trace_file(made.prefix, rank));
      for (const auto& [name, value] : reader.metadata()->attributes) metadata[name] = value;
      std::vector<Node>& nodes = ranks.emplace_back();
      const auto integer = [](const TraceNode& node, const char* name) {
        return integer_attribute(node, name).value_or(-1);
      };
      for (TraceNode node; reader.next(node);) {
        const bool sends = node.type == static_cast<uint32_t>(chakra::COMM_SEND_NODE);
        EXPECT_TRUE(sends || node.type == static_cast<uint32_t>(chakra::COMM_RECV_NODE));
        EXPECT_EQ(node.id, nodes.size());
        nodes.push_back({.sends = sends,
                         .reduces = bool_attribute(node, "reduce").value_or(false),
                         .peer = integer(node, sends ? "comm_dst" : "comm_src"),
                         .tag = integer(node, "comm_tag"),
                         .chunk = integer(node, "chunk"),
                         .count = integer(node, "count"),
                         .channel = integer(node, "channel"),
                         .size = integer(node, "comm_size"),
                         .after = node.data_deps});
      }
    }
  }

  /// Runs nodes in a random order that their dependencies allow.
  void run(State& state, uint32_t seed) const {
    std::mt19937 random(seed);
    std::map<std::array<int64_t, 3>, std::vector<uint64_t>> sent;
    std::vector<std::set<uint64_t>> done(ranks.size());
    for (;;) {
      std::vector<std::pair<size_t, uint64_t>> ready;
      for (size_t r = 0; r < ranks.size(); ++r) {
        for (uint64_t n = 0; n < ranks[r].size(); ++n) {
          const Node& node = ranks[r][n];
          const bool free = !done[r].contains(n) && std::ranges::all_of(node.after, [&](uint64_t before) {
            return done[r].contains(before);
          }) && (node.sends || sent.contains({node.peer, static_cast<int64_t>(r), node.tag}));
          if (free) ready.emplace_back(r, n);
        }
      }
      if (ready.empty()) break;
      const auto [r, n] = ready[random() % ready.size()];
      const Node& node = ranks[r][n];
      done[r].insert(n);
      std::vector<uint64_t>& own = state[r];
      if (node.sends) {
        const std::vector<uint64_t> data(own.begin() + node.chunk, own.begin() + node.chunk + node.count);
        EXPECT_TRUE(sent.try_emplace({static_cast<int64_t>(r), node.peer, node.tag}, data).second) << "a tag twice";
        continue;
      }
      const std::vector<uint64_t> data = sent.at({node.peer, static_cast<int64_t>(r), node.tag});
      ASSERT_EQ(data.size(), static_cast<size_t>(node.count));
      for (size_t i = 0; i < data.size(); ++i) {
        uint64_t& place = own[static_cast<size_t>(node.chunk) + i];
        EXPECT_TRUE(!node.reduces || (place & data[i]) == 0) << "added twice";
        place = node.reduces ? place | data[i] : data[i];
      }
    }
    for (size_t r = 0; r < ranks.size(); ++r) EXPECT_EQ(done[r].size(), ranks[r].size()) << "rank " << r;
  }
};

class Msccl : public ::testing::Test {
 protected:
  Algorithm convert(Xml xml) {
    ConversionProgress progress;
    made_ = convert_msccl(testing::write_text(folder_ / "a.xml", xml.text()), folder_ / "out", progress);
    EXPECT_EQ(progress.done, made_.ranks);
    EXPECT_EQ(made_.ranks, xml.gpus());
    return Algorithm(made_);
  }
  static MscclFlow flow(Xml xml) { return follow_msccl("a.xml", parse_msccl("a.xml", xml.text())); }
  static std::string error_of(const std::string& text) {
    try {
      follow_msccl("a.xml", parse_msccl("a.xml", text));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  static std::string error_of(Xml xml) { return error_of(xml.text()); }

  /// In many orders, from everyone's own data in all chunks to everyone's in all.
  static void expect_all_reduce(const Algorithm& algorithm) {
    const size_t n = algorithm.ranks.size(), chunks = std::stoul(algorithm.metadata.at("chunks"));
    for (uint32_t seed = 0; seed < 20; ++seed) {
      Algorithm::State state;
      for (size_t r = 0; r < n; ++r) state.emplace_back(chunks, uint64_t{1} << r);
      algorithm.run(state, seed);
      for (size_t r = 0; r < n; ++r)
        EXPECT_THAT(state[r], ::testing::Each((uint64_t{1} << n) - 1)) << "seed " << seed << " rank " << r;
    }
  }

  testing::TemporaryFolder folder_;
  Conversion made_;
};

// Rank 0 of three: sends its own chunk 0; adds its part to rank 2's chunk 2 and passes it on; adds its part to chunk 1,
// which is then whole, and passes it on; passes on chunk 0 when it comes whole, and receives chunk 2 at last.
TEST_F(Msccl, RingAllReduceOfThree) {
  const Algorithm ring = convert(ring_all_reduce(3));
  EXPECT_EQ(ring.metadata.at("collective"), "all_reduce");
  EXPECT_EQ(ring.metadata.at("chunks"), "3");
  struct Expected {
    bool sends, reduces;
    int64_t chunk;
  };
  const std::vector<Expected> expected = {{true, false, 0}, {false, true, 2},  {true, false, 2}, {false, true, 1},
                                          {true, false, 1}, {false, false, 0}, {true, false, 0}, {false, false, 2}};
  ASSERT_EQ(ring.ranks[0].size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Algorithm::Node& node = ring.ranks[0][i];
    EXPECT_EQ(node.sends, expected[i].sends) << i;
    EXPECT_EQ(node.reduces, expected[i].reduces) << i;
    EXPECT_EQ(node.chunk, expected[i].chunk) << i;
    EXPECT_EQ(node.count, 1) << i;
    EXPECT_EQ(node.peer, node.sends ? 1 : 2) << i;
    EXPECT_EQ(node.size, 0) << i;
    // The steps of the thread block, one after the other.
    EXPECT_TRUE(i == 0 || std::ranges::count(node.after, i - 1) == 1) << i;
  }
  EXPECT_EQ(made_.counts.sends, 12u);
  EXPECT_THAT(made_.warnings, IsEmpty());
  expect_all_reduce(ring);
}

TEST_F(Msccl, RingsOfOtherSizesAddUp) {
  for (const uint32_t n : {2u, 5u, 8u}) {
    const MscclFlow made = flow(ring_all_reduce(n));
    // 2 (n - 1) sends and as many receives a rank.
    for (const auto& nodes : made.ranks) EXPECT_THAT(nodes, SizeIs(4 * (n - 1)));
  }
}

// What is received into scratch and added later is received with a reduction; no RECV waits for another one.
TEST_F(Msccl, AllPairsAllReduceAddsWhatComes) {
  const Algorithm pairs = convert(all_pairs_all_reduce(4));
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const auto& nodes = pairs.ranks[rank];
    ASSERT_THAT(nodes, SizeIs(12));
    std::set<int64_t> peers;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (!nodes[n].reduces) continue;
      peers.insert(nodes[n].peer);
      EXPECT_EQ(nodes[n].chunk, rank);
      for (const uint64_t before : nodes[n].after) EXPECT_TRUE(nodes[before].sends);
    }
    EXPECT_THAT(peers, SizeIs(3));
    for (const auto& node : nodes) {
      if (!node.sends || node.chunk != rank) continue;
      // The sum is sent when all three have been added.
      size_t added = 0;
      for (const uint64_t before : node.after) added += nodes[before].reduces;
      EXPECT_EQ(added, 3u);
    }
  }
  expect_all_reduce(pairs);
}

TEST_F(Msccl, RecursiveDoublingAllGatherSendsNeighboursTogether) {
  const Algorithm gather = convert(recursive_doubling_all_gather(8));
  EXPECT_EQ(gather.metadata.at("collective"), "all_gather");
  // Rank 5 = 101b: sends chunk 5 to 4, chunks 4 and 5 to 7, chunks 4 to 7 to 1.
  std::vector<std::array<int64_t, 3>> sends;
  for (const auto& node : gather.ranks[5]) {
    if (node.sends) sends.push_back({node.peer, node.chunk, node.count});
  }
  EXPECT_THAT(sends, ElementsAre(std::array<int64_t, 3>{4, 5, 1}, std::array<int64_t, 3>{7, 4, 2},
                                 std::array<int64_t, 3>{1, 4, 4}));
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Algorithm::State state(8, std::vector<uint64_t>(8));
    for (size_t r = 0; r < 8; ++r) state[r][r] = uint64_t{1} << r;
    gather.run(state, seed);
    for (const auto& own : state) EXPECT_THAT(own, ElementsAre(1, 2, 4, 8, 16, 32, 64, 128));
  }
}

// Both exchange everything: MSCCL receives into scratch while it still sends, which with one place for a chunk must
// wait for the SEND.
TEST_F(Msccl, WhatIsSentIsNotAddedToBefore) {
  Xml xml("allreduce", 2, 2);
  for (int r = 0; r < 2; ++r) {
    xml.gpu(static_cast<uint32_t>(r), 2).block(1 - r, -1).step("s", "i0", "s0", 2);
    xml.block(-1, 1 - r).step("r", "i0", "s0", 2).step("nop", "i0", "o0", 1, 0, 0).step("re", "s0", "i0", 2);
  }
  const Algorithm both = convert(xml);
  ASSERT_THAT(both.ranks[0], SizeIs(2));
  EXPECT_TRUE(both.ranks[0][0].sends);
  EXPECT_TRUE(both.ranks[0][1].reduces);
  EXPECT_THAT(both.ranks[0][1].after, ElementsAre(0u));
  EXPECT_EQ(both.ranks[0][1].count, 2);
  expect_all_reduce(both);
}

// Rank 0 sends its own part when rank 1's has come into scratch: with one place for both nobody could begin.
TEST_F(Msccl, SaysWhichStepCannotBeHadWithOnePlace) {
  Xml xml("allreduce", 2, 1);
  for (int r = 0; r < 2; ++r) {
    const int after = r == 0 ? 0 : -1;
    xml.gpu(static_cast<uint32_t>(r), 1).block(-1, 1 - r).step("r", "i0", "s0");
    xml.block(1 - r, -1).step("s", "i0", "s0", 1, after, after);
    xml.block(-1, -1).step("nop", "i0", "o0", 1, 1, 0).step("re", "s0", "i0", 1, 0, 0);
  }
  EXPECT_THAT(error_of(xml), AllOf(HasSubstr("a.xml:4: gpu 0 thread block 0 step 0:"),
                                   HasSubstr("what this step receives would overwrite, or be added to, what is still "
                                             "to be sent")));
}

// Rank 1 sends on what rank 0 has sent, and adds its own part later: there would have to be two places.
TEST_F(Msccl, SaysWhatCannotBePassedOn) {
  Xml xml("allreduce", 3, 1);
  xml.gpu(0).block(1, -1).step("s", "i0", "s0").block(-1, 1).step("r", "i0", "i0");
  xml.gpu(1, 1).block(2, 0).step("rcs", "s0", "s0").block(-1, -1).step("re", "s0", "i0", 1, 0, 0);
  xml.block(2, -1, 1).step("s", "i0", "s0", 1, 1, 0).block(0, 2).step("rcs", "i0", "i0");
  xml.gpu(2, 2).block(-1, 1).step("r", "s0", "s0").block(-1, 1, 1).step("rrc", "i0", "s1");
  xml.block(1, -1).step("s", "s1", "i0", 1, 1, 0).block(-1, -1).step("cpy", "s1", "i0", 1, 1, 0);
  EXPECT_THAT(error_of(xml), AllOf(HasSubstr("gpu 1 thread block 2 step 0: chunk 0 of gpus 0, 1 cannot be had"),
                                   HasSubstr("one place for a chunk, where chunk 0 of gpus 0 stands")));
}

TEST_F(Msccl, SaysWhatIsReceivedForNothing) {
  Xml xml("allgather", 2, 2);
  xml.gpu(0).block(1, 1).step("s", "o0", "o0").step("s", "o0", "s0").step("r", "o1", "o1");
  xml.gpu(1, 1).block(0, 0).step("r", "o0", "o0").step("r", "o0", "s0").step("s", "o1", "o1");
  EXPECT_THAT(error_of(xml), HasSubstr("gpu 1 thread block 0 step 1: nothing is done with chunk 0 of gpus 0"));
}

// Two ranks each have two parts for everybody; in scratch those for one peer stand together.
TEST_F(Msccl, AllToAllByWayOfScratchKeepsItsChunks) {
  Xml xml("alltoall", 2, 4, "inplace=\"0\"");
  for (uint32_t r = 0; r < 2; ++r) {
    const uint32_t peer = 1 - r;
    xml.gpu(r, 2).block(static_cast<int>(peer), static_cast<int>(peer));
    // The second before the first, so that they are no neighbours any more.
    xml.step("cpy", input(2 * peer + 1), "s0").step("cpy", input(2 * peer), "s1").step("s", "s0", "s0", 2);
    xml.step("r", "s0", "s0", 2).step("cpy", "s0", fmt::format("o{}", 2 * peer + 1));
    xml.step("cpy", "s1", fmt::format("o{}", 2 * peer));
    xml.block(-1, -1).step("cpy", input(2 * r), fmt::format("o{}", 2 * r), 2);
  }
  const Algorithm all = convert(xml);
  EXPECT_EQ(all.metadata.at("collective"), "all_to_all");
  // Two members' inputs of four chunks.
  EXPECT_EQ(all.metadata.at("chunks"), "8");
  ASSERT_THAT(made_.warnings, SizeIs(1));
  EXPECT_THAT(made_.warnings[0], HasSubstr("2 steps send chunks that are no neighbours"));
  // Rank 0's chunks for rank 1 are 2 and 3 of the first input; what it receives are 4 and 5, rank 1's for it.
  std::vector<int64_t> sent, received;
  for (const auto& node : all.ranks[0]) (node.sends ? sent : received).push_back(node.chunk);
  EXPECT_THAT(sent, ElementsAre(3, 2));
  EXPECT_THAT(received, ElementsAre(5, 4));
}

// Everyone's input is cut in two; rank r gets the sum of chunk r. Not in place, the sum stands in the output.
TEST_F(Msccl, ReduceScatterInAndOutOfPlace) {
  for (const bool in_place : {true, false}) {
    Xml xml("reduce_scatter", 2, 2, in_place ? "inplace=\"1\"" : "inplace=\"0\"");
    for (uint32_t r = 0; r < 2; ++r) {
      const int peer = static_cast<int>(1 - r);
      xml.gpu(r).block(peer, peer).step("s", input(1 - r), "o0").step("rrc", input(r), "o0");
    }
    const MscclFlow made = flow(xml);
    EXPECT_EQ(made.chunks, 2u);
    ASSERT_THAT(made.ranks[1], SizeIs(2));
    EXPECT_TRUE(made.ranks[1][1].reduces);
    EXPECT_EQ(made.ranks[1][1].chunk, 1u);
  }
}

TEST_F(Msccl, BroadcastAndReduceHaveARoot) {
  Xml broadcast("broadcast", 3, 2, "inplace=\"1\" root=\"1\"");
  broadcast.gpu(0).block(-1, 2).step("r", "o0", "o0", 2);
  broadcast.gpu(1).block(2, -1).step("s", "i0", "o0", 2);
  broadcast.gpu(2).block(0, 1).step("rcs", "i0", "o0", 2);
  const Algorithm down = convert(broadcast);
  EXPECT_EQ(down.metadata.at("root"), "1");
  ASSERT_THAT(down.ranks[2], SizeIs(2));
  EXPECT_FALSE(down.ranks[2][0].reduces);

  Xml reduce("reduce", 3, 1);
  reduce.gpu(0).block(-1, 2).step("rrc", "i0", "o0");
  reduce.gpu(1).block(2, -1).step("s", "i0", "i0");
  reduce.gpu(2).block(0, 1).step("rrs", "i0", "i0");
  const MscclFlow up = flow(reduce);
  EXPECT_THAT(up.ranks[0], ElementsAre(AllOf(Field(&FlowNode::reduces, true), Field(&FlowNode::peer, 2u))));
}

TEST_F(Msccl, RefusesWhatDoesNotGiveTheResult) {
  Xml missing("allreduce", 2, 1);
  missing.gpu(0).block(1, -1).step("s", "i0", "i0");
  missing.gpu(1).block(-1, 0).step("rrc", "i0", "i0");
  EXPECT_THAT(error_of(missing), HasSubstr("all_reduce ends with chunk 0 of gpus 0 in o[0] of gpu 0, not with chunk 0 "
                                           "of gpus 0, 1"));
  Xml twice("allreduce", 2, 1);
  twice.gpu(0).block(1, 1).step("s", "i0", "i0").step("rrc", "i0", "i0");
  twice.gpu(1).block(0, 0).step("rrcs", "i0", "i0");
  EXPECT_THAT(error_of(twice), HasSubstr("gpu 0 thread block 0 step 1: adds chunk 0 of gpus 0, 1 to chunk 0 of gpus 0: "
                                         "twice"));
  Xml other("allreduce", 2, 2);
  other.gpu(0).block(1, -1).step("s", "i0", "i1");
  other.gpu(1).block(-1, 0).step("rrc", "i1", "i1");
  EXPECT_THAT(error_of(other), HasSubstr("a.xml:9: gpu 1 thread block 0 step 0: adds chunk 0 of gpus 0 to chunk 1 of "
                                         "gpus 1"));
  Xml empty("allgather", 2, 2);
  empty.gpu(0).block(1, -1).step("s", "o1", "o1");
  empty.gpu(1).block(-1, 0).step("r", "o1", "o1");
  EXPECT_THAT(error_of(empty), HasSubstr("nothing stands in o[1]"));
  Xml adds("allgather", 2, 2);
  adds.gpu(0).block(1, -1).step("s", "o0", "o0");
  adds.gpu(1).block(-1, 0).step("rrc", "o1", "o1");
  EXPECT_THAT(error_of(adds), HasSubstr("reduces, but all_gather does not"));
  Xml beyond("allgather", 2, 2);
  beyond.gpu(0).block(1, -1).step("s", "s0", "o0");
  beyond.gpu(1).block(-1, 0).step("r", "o0", "o0");
  EXPECT_THAT(error_of(beyond), HasSubstr("s[0] is beyond the buffer's 0 chunks"));
}

TEST_F(Msccl, RefusesWhatNeverEnds) {
  Xml waits("allreduce", 2, 1);
  waits.gpu(0).block(-1, 1).step("r", "i0", "i0");
  waits.gpu(1).block(-1, 0).step("r", "i0", "i0");
  EXPECT_THAT(error_of(waits),
              HasSubstr("gpu 0 thread block 0 step 0: waits for a message of gpu 1 on channel 0, which "
                        "never comes"));
  Xml circle("allreduce", 2, 1);
  circle.gpu(0).block(1, -1).step("s", "i0", "i0", 1, 1, 0).block(-1, 1).step("nop", "i0", "i0", 1, 0, 0);
  circle.gpu(1).block(-1, 0).step("r", "i0", "i0");
  EXPECT_THAT(error_of(circle), HasSubstr("waits for step 0 of thread block 1, which never comes"));
  Xml alone("allreduce", 2, 1);
  alone.gpu(0).block(1, -1).step("s", "i0", "i0");
  alone.gpu(1).block(0, -1);
  EXPECT_THAT(error_of(alone), HasSubstr("nobody receives this message"));
  Xml counts("allreduce", 2, 2);
  counts.gpu(0).block(1, -1).step("s", "i0", "i0", 2);
  counts.gpu(1).block(-1, 0).step("r", "i0", "i0", 1);
  EXPECT_THAT(error_of(counts), HasSubstr("receives 1 chunks, but gpu 0 thread block 0 step 0 sends 2"));
}

TEST_F(Msccl, SaysWhatIsWrongAndWhere) {
  const auto algo = [](const char* attributes, const char* inside) {
    return fmt::format("<algo coll=\"allreduce\" ngpus=\"2\" nchunksperloop=\"2\" {}>\n{}\n</algo>\n", attributes,
                       inside);
  };
  const auto block = [&](const char* steps) {
    return algo(
        "", fmt::format("<gpu id=\"0\"><tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">{}</tb></gpu>", steps).c_str());
  };
  for (const auto& [text, message] : {
           std::pair(std::string("hello"), "a.xml:1: no XML: "),
           std::pair(std::string("<!DOCTYPE algo [<!ENTITY a \"b\">]>\n<algo/>"), "an algorithm has no document type"),
           std::pair(std::string("<graph/>"), "<graph> stands where <algo> is to be"),
           std::pair(std::string("<algo/>"), "a.xml:1: <algo> has no coll"),
           std::pair(std::string("<algo coll=\"custom\"/>"), "coll is \"custom\", not allreduce, allgather"),
           std::pair(std::string("<algo coll=\"allgather\" ngpus=\"2\" nchunksperloop=\"3\"/>"),
                     "nchunksperloop is 3, which 2 gpus cannot share equally"),
           std::pair(std::string("<algo coll=\"reduce\" ngpus=\"1\" nchunksperloop=\"3\"/>"),
                     "ngpus is \"1\", not 2 to"),
           std::pair(algo("", "<gpu id=\"2\"/>"), "a.xml:2: id is \"2\", not 0 to 1"),
           std::pair(algo("", "<gpu id=\"1\"/>"), "gpu 0 of 2 is missing"),
           std::pair(algo("", "<gpu id=\"1\"/><gpu id=\"1\"/>"), "gpu 1 stands here for the second time"),
           std::pair(algo("", "<gpu id=\"0\"><tb id=\"0\" send=\"0\"/></gpu>"), "send is 0, the gpu itself"),
           std::pair(algo("", "<gpu id=\"0\"><tb id=\"0\"/><tb id=\"0\"/></gpu>"), "has a thread block 0 already"),
           std::pair(algo("", "<gpu id=\"0\"><tb id=\"0\" send=\"1\"/><tb id=\"1\" send=\"1\"/></gpu>"),
                     "another thread block of gpu 0 sends to 1 on channel 0"),
           std::pair(block("<step s=\"1\" type=\"s\"/>"), "step 0 of a thread block is called 1"),
           std::pair(block("<step s=\"0\" type=\"x\"/>"), "\"x\" is no type of step"),
           std::pair(block("<step s=\"0\" type=\"r\"/>"), "type r receives, but the thread block has no peer"),
           std::pair(block("<step s=\"0\" type=\"s\" srcbuf=\"x\"/>"), "srcbuf is \"x\", not i, o or s"),
           std::pair(block("<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"-1\"/>"), "srcoff is \"-1\", not 0 to"),
           std::pair(block("<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" cnt=\"0\"/>"), "cnt is \"0\", not 1 to"),
           std::pair(algo("",
                          "<gpu id=\"1\"/><gpu id=\"0\"><tb id=\"0\">\n<step s=\"0\" type=\"nop\" depid=\"4\" "
                          "deps=\"0\"/></tb></gpu>"),
                     "a.xml:3: depid is 4, gpu 0 has no such block"),
           std::pair(algo("",
                          "<gpu id=\"1\"/><gpu id=\"0\"><tb id=\"7\">\n<step s=\"0\" type=\"nop\" depid=\"7\" "
                          "deps=\"1\"/></tb></gpu>"),
                     "a.xml:3: deps is 1, but thread block 7 has 1 steps"),
           std::pair(std::string("<algo coll=\"allreduce\" ngpus=\"2\" nchunksperloop=\"1048576\">\n"
                                 "<gpu id=\"0\"/><gpu id=\"1\"/></algo>"),
                     "the buffers have 4194304 chunks together, the most is 1048576"),
       })
    EXPECT_THAT(error_of(text), HasSubstr(message)) << text;
}

}  // namespace
}  // namespace rankwire
