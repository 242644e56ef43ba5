// What generated traces send.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "converters/generated_traces.h"
#include "converters/node_writer.h"
#include "emulator/workload/workload.h"
#include "tests/converters/written_trace.h"

namespace rankwire::testing {

struct Amount {
  int count = 0;
  int64_t bytes = 0;  ///< of each; -1 where they differ

  bool operator==(const Amount&) const = default;
};
inline void PrintTo(const Amount& amount, std::ostream* out) {
  *out << amount.count << " x " << amount.bytes;
}

/// By "GROUP KIND", such as "mp_0 ALL_GATHER".
inline std::map<std::string, Amount> collectives_of(const std::vector<WrittenNode>& nodes) {
  std::map<std::string, Amount> amounts;
  for (const WrittenNode& node : nodes) {
    if (node.type != chakra::COMM_COLL_NODE) continue;
    const std::string kind = chakra::CollectiveCommType_Name(static_cast<int>(node.kind));
    Amount& amount = amounts[node.group + " " + kind];
    amount.bytes = amount.count == 0 || amount.bytes == node.size ? node.size : -1;
    ++amount.count;
  }
  return amounts;
}

/// The traces of all ranks. Ids are places, and dependencies point back.
inline std::vector<std::vector<WrittenNode>> read_generated(const GeneratedTraces& traces, const std::string& prefix) {
  std::vector<std::vector<WrittenNode>> ranks;
  uint64_t written = 0;
  for (uint32_t rank = 0; rank < traces.ranks; ++rank) {
    const std::vector<WrittenNode>& nodes = ranks.emplace_back(read_written(trace_file(prefix, rank)));
    written += nodes.size();
    for (size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_EQ(nodes[i].id, i);
      EXPECT_EQ(nodes[i].after.empty(), i == 0) << nodes[i].name;
      for (const uint64_t dependency : nodes[i].after) EXPECT_LT(dependency, i) << nodes[i].name;
    }
  }
  EXPECT_EQ(traces.nodes, written);
  return ranks;
}

/// The loader takes the set without a warning.
inline void expect_valid(const GeneratedTraces& traces, const std::string& prefix) {
  WorkloadOptions options;
  options.traces = {prefix};
  options.groups_file = prefix + ".json";
  Warnings warnings;
  EXPECT_EQ(load_workload(options, warnings).ranks.size(), traces.ranks);
  EXPECT_THAT(warnings, ::testing::IsEmpty());
}

/// Generating throws Error(kInput) with this text.
template <class Generate>
void expect_refused(const std::string& text, Generate generate) {
  try {
    generate();
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
  }
}

}  // namespace rankwire::testing
