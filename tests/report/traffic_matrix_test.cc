// Who sent how much to whom: cells, picture, data and table.
#include "emulator/report/traffic_matrix.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/report/html_matrix.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TemporaryFolder;

struct Sent {
  uint32_t source, destination;
  uint64_t bytes;
  Path path = Path::kWire;
};

class Traffic : public ::testing::Test {
 protected:
  /// An emulated run of so many ranks; with `ranks_of_host` those of each host follow each other.
  void write(uint32_t ranks, const std::vector<Sent>& sent, uint32_t ranks_of_host = 0) {
    RunEnd end = testing::sample_end(microseconds(50));
    for (uint32_t i = 0; i < sent.size(); ++i) {
      end.flows.push_back({.connection = {.id = ConnectionId(i),
                                          .job = JobId(0),
                                          .source = RankId(sent[i].source),
                                          .destination = RankId(sent[i].destination),
                                          .path = sent[i].path},
                           .group = "",
                           .counters = {.connection = ConnectionId(i), .bytes = sent[i].bytes}});
    }
    for (uint32_t rank = 0; ranks_of_host > 0 && rank < ranks; ++rank)
      end.rank_nics.push_back({.nic = NicId(rank), .port = PortId(0), .host = rank / ranks_of_host});
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    recorder.begin({.fidelity = Fidelity::kEmulated, .clock = "virtual", .ranks = ranks}).end(end);
  }
  TrafficMatrix matrix(size_t most = TrafficMatrix::kMostBlocks) const {
    const RunReader record(folder_.path());
    return TrafficMatrix(record, *record.emulated(), most);
  }
  std::string html() const { return html_traffic_matrix(RunReader(folder_.path())); }

  TemporaryFolder folder_;
};

/// What a browser makes of an attribute.
nlohmann::json data_of(const std::string& html) {
  const std::string begin = "data-matrix=\"";
  const size_t from = html.find(begin) + begin.size();
  std::string text = html.substr(from, html.find('"', from) - from);
  for (const auto& [escape, character] : {std::pair{"&quot;", "\""}, std::pair{"&lt;", "<"}, std::pair{"&gt;", ">"},
                                          std::pair{"&#39;", "'"}, std::pair{"&amp;", "&"}})
    for (size_t at = 0; (at = text.find(escape, at)) != std::string::npos; ++at)
      text.replace(at, std::string_view(escape).size(), character);
  return nlohmann::json::parse(text);
}

TEST_F(Traffic, CellsAreRanksWhereTheyAreFew) {
  write(3, {{0, 1, 100}, {0, 1, 20, Path::kLocal}, {2, 0, 7}});
  const TrafficMatrix traffic = matrix();
  EXPECT_EQ(traffic.block(), TrafficMatrix::Block::kRank);
  EXPECT_THAT(traffic.labels(), ElementsAre("rank 0", "rank 1", "rank 2"));
  EXPECT_EQ(traffic.at(0, 1).wire, 100u);
  EXPECT_EQ(traffic.at(0, 1).local, 20u);
  EXPECT_EQ(traffic.at(1, 0).bytes(), 0u);
  EXPECT_EQ(traffic.at(2, 0).bytes(), 7u);
  EXPECT_EQ(traffic.total().bytes(), 127u);
}

// 300 ranks of 100 a host: rank 250 is of host 2.
TEST_F(Traffic, CellsAreHostsWhereRanksAreMany) {
  write(300, {{0, 250, 10}, {99, 299, 5}, {100, 101, 3}}, 100);
  const TrafficMatrix traffic = matrix();
  EXPECT_EQ(traffic.block(), TrafficMatrix::Block::kHost);
  EXPECT_THAT(traffic.labels(), ElementsAre("host 0", "host 1", "host 2"));
  EXPECT_EQ(traffic.at(0, 2).bytes(), 15u);
  EXPECT_EQ(traffic.at(1, 1).bytes(), 3u);
  EXPECT_THAT(html(), HasSubstr("The 300 ranks are put together by host."));
}

// 301 ranks in 256 cells at most: two in one, 151 blocks, the last of one rank.
TEST_F(Traffic, CellsAreRanksThatFollowEachOtherWhereHostsAreNotKnown) {
  write(301, {{2, 300, 10}, {3, 300, 5}});
  const TrafficMatrix traffic = matrix();
  EXPECT_EQ(traffic.block(), TrafficMatrix::Block::kRanks);
  EXPECT_EQ(traffic.ranks_in_block(), 2u);
  ASSERT_EQ(traffic.blocks(), 151u);
  EXPECT_EQ(traffic.labels().front(), "ranks 0 to 1");
  EXPECT_EQ(traffic.labels().back(), "ranks 300 to 300");
  EXPECT_EQ(traffic.at(1, 150).bytes(), 15u);
  EXPECT_THAT(html(), HasSubstr("Of the 301 ranks 2 that follow each other are put together."));
}

TEST_F(Traffic, IsAsDenseAsItsLogarithm) {
  // 1, 1000 and 10^6 bytes: the least, the middle and the most of a logarithmic scale of 8 levels; ln(1000) is half of
  // ln(10^6), and half of 7 levels 3.5, which is rounded up: level 5, with opacity 0.18 + 0.82 x 4 / 7 = 0.65.
  write(4, {{0, 1, 1}, {1, 2, 1000}, {2, 3, 1'000'000}});
  const std::string svg = matrix_svg(matrix());
  // A side of 512 has 4 cells of 128; the first is at 110, 110.
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.18\" d=\"M238 110h128v128h-128z\""));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"0.65\" d=\"M366 238h128v128h-128z\""));
  EXPECT_THAT(svg, HasSubstr("fill-opacity=\"1.00\" d=\"M494 366h128v128h-128z\""));
  EXPECT_THAT(svg, HasSubstr("1 B to 976.6 KiB, logarithmic"));
}

TEST_F(Traffic, WithoutAnyThereIsNoSection) {
  write(2, {});
  EXPECT_THAT(html(), IsEmpty());
  EXPECT_THAT(testing::SampleReport().page(), Not(HasSubstr("Who sent to whom")));
}

// By the definition of source maps' VLQ the differences 1, 5 of places 1 and 6 are C and K, and bytes 5, 5 are K and A.
TEST_F(Traffic, DataHasTheCellsThatSent) {
  write(3, {{0, 1, 5}, {2, 0, 5}});
  const nlohmann::json data = data_of(html());
  EXPECT_EQ(data["cells"], 2);
  EXPECT_EQ(data["place"], "CK");
  EXPECT_EQ(data["wire"], "KA");
  EXPECT_EQ(data["local"], "AA");
  EXPECT_EQ(data["labels"], nlohmann::json({"rank 0", "rank 1", "rank 2"}));
}

TEST_F(Traffic, NamesAreHarmless) {
  const std::string name = "\"><script>alert(1)</script>\u202e" + std::string(10'000, 'x');
  {
    RunRecorder recorder(folder_.path());
    testing::begin_sample(recorder);
    recorder.jobs(std::vector{JobInfo{.job = JobId(0), .name = name, .ranks = 1},
                              JobInfo{.job = JobId(1), .name = "b", .first_rank = 1, .ranks = 1}});
    RunEnd end = testing::sample_end(microseconds(50));
    end.flows = {{.connection = {.id = ConnectionId(0), .source = RankId(0), .destination = RankId(1)},
                  .counters = {.connection = ConnectionId(0), .bytes = 5}}};
    recorder.begin({.fidelity = Fidelity::kEmulated, .ranks = 2}).end(end);
  }
  const std::string text = html();
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  const std::string label = data_of(text)["labels"][0];
  EXPECT_TRUE(label.starts_with("\"><script>alert(1)</script>\u202ex")) << label;
  EXPECT_LE(label.size(), 203u) << "200 bytes and an ellipsis";
}

// All of 256 x 256 cells, with bytes that look random: what the documents promise.
TEST_F(Traffic, DataIsOfBoundedSize) {
  std::vector<Sent> sent;
  uint64_t random = 1;
  for (uint32_t i = 0; i < 256 * 256; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    sent.push_back({i / 256, i % 256, random >> 24});
  }
  write(256, sent);
  const std::string text = html();
  EXPECT_EQ(data_of(text)["cells"], 256 * 256);
  EXPECT_LT(text.size(), 1'000'000u);
}

TEST_F(Traffic, CsvHasEachPairOfEachRun) {
  write(300, {{0, 250, 10}, {0, 250, 4, Path::kLocal}, {9, 8, 0}});
  write_traffic_csv(RunReader(folder_.path()), folder_ / "traffic.csv");
  EXPECT_EQ(testing::file_text(folder_ / "traffic.csv"),
            "fidelity,model,source,destination,bytes_wire,bytes_local\nemulated,,0,250,10,4\n");
}

TEST_F(Traffic, ThePageHasPictureDataAndTheLargest) {
  write(3, {{0, 1, 3000}, {2, 0, 1000}});
  write_report(folder_.path());
  const std::string page = testing::file_text(folder_ / "report.html");
  EXPECT_THAT(page, HasSubstr("<h2>Who sent to whom</h2>"));
  EXPECT_THAT(page, HasSubstr("emulated: 3.906 KiB, of it 0 B local."));
  EXPECT_THAT(page, HasSubstr("<svg class=\"matrix\""));
  EXPECT_THAT(page, HasSubstr("<td>rank 0</td><td>rank 1</td><td class=\"n\" data-value=\"3000\">2.93 KiB</td>"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "traffic.csv"));
}

}  // namespace
}  // namespace rankwire
