// Small sets with one planted mistake each, and exactly what a check must find in them.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/traces/checked.h"

namespace rankwire::testing {

struct Planted {
  const char* name;
  std::function<void(TraceSet&)> write;
  std::vector<std::string> findings;  ///< as `summary` writes them
  std::string what;                   ///< part of the first one's text
  bool repairable = false;            ///< a repaired copy has no errors and no warnings
  CheckOptions options = {};
};

inline std::ostream& operator<<(std::ostream& out, const Planted& plant) {
  return out << plant.name;
}

inline Make all_reduce(uint64_t id, Ids after, int64_t size = 4096) {
  return collective(id, "reduce").after(after).size(size);
}
inline Make step(uint64_t id, Ids after = {}) {
  return compute(id, "gemm").after(after).micros(10);
}
inline Make on_host(uint64_t id, Ids after = {}) {
  return Make(chakra::COMP_NODE, id, "aten::mm").after(after).micros(1).on_cpu();
}
inline Make kernel(uint64_t id, Ids after, int64_t stream = 7) {
  return compute(id, "kernel").after(after).micros(10).integer("stream", stream);
}

/// Nothing is wrong with these two ranks.
inline std::vector<Nodes> sound() {
  const Nodes nodes = {step(1), all_reduce(2, {1}), step(3, {2})};
  return {nodes, nodes};
}

inline std::function<void(TraceSet&)> ranks(std::vector<Nodes> nodes, std::string groups = "") {
  return [nodes = std::move(nodes), groups = std::move(groups)](TraceSet& set) {
    for (const Nodes& rank : nodes) set.add(rank);
    if (!groups.empty()) set.groups(groups);
  };
}

inline std::function<void(TraceSet&)> in_rank_1(Nodes nodes) {
  return ranks({sound()[0], std::move(nodes)});
}

inline std::vector<Planted> planted() {
  const Nodes good = sound()[0];
  const auto both = [](const Nodes& nodes) { return ranks({nodes, nodes}); };
  std::vector<Planted> list = {
      {"Truncated",
       [=](TraceSet& set) {
         set.add(good);
         set.add({step(1), all_reduce(2, {1}), step(3, {2}), step(4, {3})});
         std::filesystem::resize_file(set.file(1), std::filesystem::file_size(set.file(1)) - 3);
       },
       {"truncated 1"},
       "the file ends within the frame",
       true},
      {"Garbage",
       [=](TraceSet& set) {
         set.add(good);
         set.add(good);
         std::ofstream(set.file(1), std::ios::binary | std::ios::app) << std::string("\x03\xff\xff\xff", 4);
       },
       {"unreadable 1"},
       "not a Chakra node",
       true},
      {"NoNodes", ranks({{}}), {"no-nodes 0"}, "0 nodes"},
      {"NoTypes", ranks({{Make(chakra::INVALID_NODE, 1, "a")}}), {"no-nodes 0"}, "none of which has a type"},
      {"Cycle",
       in_rank_1({step(1, {4}), all_reduce(2, {1}), step(3, {2}), step(4, {3})}),
       {"cycle 1: 1", "forward-dependency 1: 1"},
       "1 \"gemm\" -> 2 \"reduce\" -> 3 \"gemm\" -> 4 \"gemm\" -> 1",
       true},
      {"Dangling",
       in_rank_1({step(1, {77}), all_reduce(2, {1}), step(3, {2})}),
       {"dangling-dependency 1: 1"},
       "on node 77 does not resolve",
       true},
      {"DuplicateId",
       in_rank_1({step(1), all_reduce(2, {1}), step(3, {2}), compute(3, "other").micros(5)}),
       {"duplicate-id 1: 3"},
       "\"other\" is that of \"gemm\"",
       true},
      {"RepeatedNode",
       in_rank_1({step(1), all_reduce(2, {1}), step(3, {2}), step(3, {2})}),
       {"duplicate-id 1: 3"},
       "3 \"gemm\"",
       true},
      {"SelfDependency",
       in_rank_1({step(1, {1}), all_reduce(2, {1}), step(3, {2})}),
       {"self-dependency 1: 1"},
       "data dependency on itself",
       true},
      {"DuplicateDependency",
       in_rank_1({step(1), all_reduce(2, {1, 1}), step(3, {2})}),
       {"duplicate-dependency 1: 2"},
       "depends on node 1 twice",
       true},
      {"ForwardDependency",
       in_rank_1({all_reduce(2, {1}), step(1), step(3, {2})}),
       {"forward-dependency 1: 2"},
       "stands 1 further on"},
      {"ControlDependencies",
       both({step(1).after_control({1, 9}), all_reduce(2, {1}).after_control({3}), step(3, {2})}),
       {"self-control 0: 1", "dangling-control 0: 1", "control-cycle 0: 2", "self-control 1: 1",
        "dangling-control 1: 1", "control-cycle 1: 2"},
       ""},
      {"MissingSize",
       both({step(1), collective(2, "reduce").after({1})}),
       {"missing-size 0: 2", "missing-size 1: 2"},
       ""},
      {"NegativeSize", both({all_reduce(2, {}, -1)}), {"absurd-size 0: 2", "absurd-size 1: 2"}, "comm_size -1"},
      {"ZeroSize", both({all_reduce(2, {}, 0)}), {"zero-size 0: 2", "zero-size 1: 2"}, "comm_size 0"},
      {"UnknownCollective",
       both({Make(chakra::COMM_COLL_NODE, 2, "odd").integer("comm_type", 12).size(64)}),
       {"unknown-collective 0: 2", "unknown-collective 1: 2"},
       "comm_type 12"},
      {"AbsurdDuration",
       in_rank_1({step(1).micros(UINT64_MAX), all_reduce(2, {1}), step(3, {2})}),
       {"absurd-duration 1: 1"},
       "18446744073709551615 us"},
      {"HugeDuration",
       in_rank_1({step(1).micros(3'600'000'000), all_reduce(2, {1}), step(3, {2})}),
       {"huge-duration 1: 1"},
       "3600000000 us"},
      {"ZeroDuration",
       in_rank_1({compute(1, "gemm"), all_reduce(2, {1}), compute(3, "gemm").after({2})}),
       {"zero-duration 1"},
       "2 compute nodes"},
      {"BadValue",
       in_rank_1({step(1), collective(2, "reduce").after({1}).text("comm_size", "much"), step(3, {2})}),
       {"bad-value 1: 2", "missing-size 1: 2"},
       "is no 64-bit integer but the text \"much\""},
      {"DoubleCounted",
       both({on_host(1), all_reduce(2, {1}).on_cpu(), all_reduce(3, {2}).integer("stream", 8)}),
       {"double-counted 0: 2", "double-counted 1: 2"},
       "both have 4096 bytes",
       true},
      {"HostDuplicate",
       both({on_host(1), Make(chakra::COMM_COLL_NODE, 2, "c10d::allreduce_").after({1}).on_cpu(), all_reduce(3, {2})}),
       {"host-duplicate 0: 2", "host-duplicate 1: 2"},
       "has neither type nor size"},
      {"KernelsWithoutSuccessors",
       both({on_host(1), kernel(2, {1}), on_host(3, {1}), kernel(4, {3}), kernel(5, {3})}),
       {"kernels-without-successors 0", "kernels-without-successors 1"},
       "no node depends on 3 of 3 kernels",
       true},
      {"CollectiveBeforeInputs",
       both({on_host(1), kernel(2, {1}), kernel(3, {2}), on_host(4, {1}), all_reduce(5, {4}).integer("stream", 8),
             kernel(6, {5})}),
       {"collective-before-inputs 0: 5", "collective-before-inputs 1: 5"},
       "node 3 \"kernel\" was launched before it",
       true},
      {"AbsentRankInNumbering",
       [=](TraceSet& set) {
         for (int rank = 0; rank < 3; ++rank) set.add(good);
         std::filesystem::remove(set.file(1));
       },
       {"absent-rank"},
       "rank 1 is missing: there is a trace of rank 2"},
      {"AbsentRankOfGroup",
       ranks(sound(), R"({"dp": [0, 1, 2, 3]})"),
       {"absent-rank"},
       "ranks 2, 3 are missing: group \"dp\""},
      {"AbsentRankOfMetadata",
       ranks({{Make(chakra::METADATA_NODE, 0, "## process_group:init ##")
                   .values(R"(['[{"pg_name": "0", "ranks": [], "group_size": 3}]'])"),
               step(1), all_reduce(2, {1})}}),
       {"absent-rank"},
       "ranks 1, 2 are missing: group \"0\""},
      {"AbsentRankOfInputs",
       ranks({{step(1), all_reduce(2, {1}, 16)
                            .values("[[[3, 2, 0, 4, 4, 'cuda:0']], 35, ['0', 'pg'], 0, 'allreduce', "
                                    "[], [], 0, 1, 2]")}}),
       {"absent-rank"},
       "rank 1 is missing"},
      {"AbsentRankOfOptions",
       ranks(sound()),
       {"absent-rank"},
       "rank 2 is missing: the run had 3 ranks",
       false,
       {.ranks = 3}},
      {"LoneRank", ranks({good}), {"absent-rank"}, "rank 1 is missing"},
      {"UnknownGroup",
       both({step(1), all_reduce(2, {1}).group("tp")}),
       {"unknown-group 0: 2", "unknown-group 1: 2"},
       "group \"tp\" is not defined"},
      {"NotAMember",
       ranks({{all_reduce(2, {}).group("a")}, {all_reduce(2, {}).group("a")}, {all_reduce(2, {}).group("a")}},
             R"({"a": [0, 1]})"),
       {"not-a-member 2: 2"},
       "rank 2 is not in group \"a\""},
      {"AbsentMember", in_rank_1({step(1), step(3, {1})}), {"absent-member 1"}, "calls group \"all\" 0 times"},
      {"CollectiveOrder",
       ranks({{all_reduce(1, {}, 64), all_reduce(2, {1}, 128)}, {all_reduce(1, {}, 128), all_reduce(2, {1}, 64)}}),
       {"collective-order 1: 1 2"},
       "collective 0 of group \"all\""},
      {"CollectiveKind",
       in_rank_1({step(1), collective(2, "gather", CollectiveKind::kAllGather).after({1}).size(4096), step(3, {2})}),
       {"collective-kind 1: 2"},
       "all_gather of 4096 bytes"},
      {"CollectiveSize",
       in_rank_1({step(1), all_reduce(2, {1}, 8192), step(3, {2})}),
       {"collective-size 1: 2"},
       "all_reduce of 8192 bytes"},
      {"UnmatchedSend",
       ranks({{step(1), send(2, "out", 1).after({1}).size(64)}, {step(1)}}),
       {"unmatched-send 0: 2"},
       "goes to rank 1 with tag 0 and 64 bytes"},
      {"UnmatchedReceive",
       ranks({{step(1)}, {receive(2, "in", 0).size(64).integer("comm_tag", 5)}}),
       {"unmatched-receive 1: 2"},
       "comes from rank 0 with tag 5"},
      {"MessageSize",
       ranks({{send(1, "out", 1).size(64)}, {receive(2, "in", 0).size(32)}}),
       {"message-size 0: 1"},
       "receives 32"},
      {"BadPeer", ranks({{send(1, "out", 0).size(64)}, {step(1)}}), {"bad-peer 0: 1"}, "comm_dst 0"},
      {"RepeatedTag",
       ranks({{send(1, "out", 1).size(64), send(2, "out", 1).size(64)},
              {receive(1, "in", 0).size(64), receive(2, "in", 0).size(64)}}),
       {"repeated-tag 0: 2"},
       "another message to rank 1 with tag 0",
       true},
      {"Deadlock",
       ranks({{receive(1, "in", 1).size(64), send(2, "out", 1).size(64).after({1})},
              {receive(1, "in", 0).size(64), send(2, "out", 0).size(64).after({1})}}),
       {"deadlock"},
       "the ranks wait for each other"},
      {"ElementCounts",
       both({step(1), all_reduce(2, {1}, 1000).values("[[[3, 2, 0, 1000, 4, 'cuda:0']], 1]")}),
       {"element-counts 0: 2", "element-counts 1: 2"},
       "elements of 4 bytes",
       true},
      {"UnknownType",
       in_rank_1({step(1), all_reduce(2, {1}), step(3, {2}), Make(static_cast<chakra::NodeType>(9), 4, "b")}),
       {"unknown-type 1: 4"},
       "of type 9"},
  };
  return list;
}

}  // namespace rankwire::testing
