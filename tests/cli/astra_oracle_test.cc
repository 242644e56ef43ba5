// The fidelity `astra` beside what ASTRA-sim printed for the same files: 147 runs of its analytical backends.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/assembly/setup.h"
#include "emulator/cli/astra_verb.h"
#include "tests/simulator/astra_program.h"
#include "tests/test_data.h"

namespace rankwire {
namespace {

using Row = std::map<std::string, std::string>;

/// Fields of a line of CSV; quotes may hold commas.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<Row> read_rows(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> header = fields(line);
  std::vector<Row> rows;
  while (std::getline(stream, line)) {
    const std::vector<std::string> values = fields(line);
    for (size_t i = 0; i < header.size() && i < values.size(); ++i) {
      if (i == 0) rows.emplace_back();
      rows.back()[header[i]] = values[i];
    }
  }
  return rows;
}

/// The options of ASTRA-sim's command line.
AstraRequest request_of(const Row& row) {
  Row options;
  std::istringstream words(row.at("args"));
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  AstraRequest request;
  const auto take = [&](const char* option, std::string& value) {
    if (const auto at = options.find(option); at != options.end()) value = at->second;
  };
  std::string queues = "1", rendezvous = "false";
  take("--workload-configuration", request.workload);
  take("--comm-group-configuration", request.groups);
  take("--system-configuration", request.system);
  take("--remote-memory-configuration", request.memory);
  take("--network-configuration", request.network);
  take("--num-queues-per-dim", queues);
  take("--rendezvous-protocol", rendezvous);
  request.queues = static_cast<uint32_t>(std::stoul(queues));
  request.rendezvous = rendezvous == "true";
  request.congestion = row.at("backend") == "congestion_aware" ? "aware" : "unaware";
  return request;
}

/// By rank, in nanoseconds.
std::vector<int64_t> printed_times(const Row& row) {
  const std::string& text = row.at("finish_per_npu");
  const auto npus = static_cast<size_t>(std::stoul(row.at("npus")));
  if (text == "all_equal") return std::vector<int64_t>(npus, std::stoll(row.at("finish_max_ns")));
  std::vector<int64_t> times(npus, -1);
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ';');)
    times.at(std::stoul(item)) = std::stoll(item.substr(item.find(':') + 1));
  return times;
}

/// Ours, of the same files.
AstraResult simulate(const Row& row, const std::filesystem::path& folder) {
  Setup setup;
  prepare(setup, astra_config(request_of(row)), folder);
  return testing::run_program(setup.astra->model, setup.astra->workload.program);
}

/// The paths of the runs are relative to the folder of the archive.
class AstraOracle : public ::testing::Test {
 protected:
  void enter(const std::filesystem::path& archive) {
    testing::unpack(archive, folder_);
    std::filesystem::current_path(folder_ / "astra_oracle");
  }
  void TearDown() override { std::filesystem::current_path(before_); }

  testing::TemporaryFolder folder_;
  const std::filesystem::path before_ = std::filesystem::current_path();
};

/// Where ASTRA-sim aborts, or ends without a finish time and status 0: what is said here instead.
const std::map<std::string, std::string> kRefused = {
    {"r187", "endpoint-delay: must be at least 1"},                                 // it aborts
    {"r267", "a METADATA node, on which ASTRA-sim aborts"},                         // it aborts
    {"r293", "halvingDoubling needs a power of 2 of NPUs, but dimension 0 has 6"},  // it ends without a word
};

TEST_F(AstraOracle, EveryNpuEndsWhenAstraSimSays) {
  RANKWIRE_REQUIRE_DATA(table, "astra_oracle/rows.csv");
  RANKWIRE_REQUIRE_DATA(archive, "astra_oracle/astra_oracle.tar.xz");
  enter(archive);
  size_t compared = 0;
  int64_t largest = 0;
  for (const Row& row : read_rows(table)) {
    const std::string& name = row.at("row");
    if (row.at("finished") != row.at("npus")) continue;
    SCOPED_TRACE(name + " " + row.at("trace") + " " + row.at("note"));
    AstraResult result;
    ASSERT_NO_THROW(result = simulate(row, folder_.path()));
    EXPECT_EQ(result.verdict, AstraVerdict::kOk) << result.reason;
    const std::vector<int64_t> printed = printed_times(row);
    ASSERT_EQ(result.per_rank.size(), printed.size());
    for (size_t rank = 0; rank < printed.size(); ++rank) {
      const int64_t ours = result.per_rank[rank].ps / 1000;
      EXPECT_NEAR(static_cast<double>(ours), static_cast<double>(printed[rank]),
                  std::max(1.0, 0.001 * static_cast<double>(printed[rank])))
          << "rank " << rank;
      largest = std::max(largest, std::abs(ours - printed[rank]));
    }
    ++compared;
  }
  EXPECT_EQ(compared, 144u);
  EXPECT_EQ(largest, 0) << "ns: the largest difference";
}

TEST_F(AstraOracle, WhatItCannotRunIsSaid) {
  RANKWIRE_REQUIRE_DATA(table, "astra_oracle/rows.csv");
  RANKWIRE_REQUIRE_DATA(archive, "astra_oracle/astra_oracle.tar.xz");
  enter(archive);
  std::map<std::string, std::string> found;
  for (const Row& row : read_rows(table)) {
    if (row.at("finished") == row.at("npus")) continue;
    try {
      found[row.at("row")] = simulate(row, folder_.path()).reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      found[row.at("row")] = error.what();
    }
  }
  ASSERT_EQ(found.size(), kRefused.size());
  for (const auto& [row, text] : kRefused) EXPECT_THAT(found[row], ::testing::HasSubstr(text)) << row;
}

}  // namespace
}  // namespace rankwire
