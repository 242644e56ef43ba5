#include "emulator/report/cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "emulator/report/collective_table.h"

namespace rankwire {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

CollectiveSide side_of_run(Duration mean, Bytes size) {
  return {.calls = 8,
          .mean = mean,
          .p50 = mean,
          .p95 = mean,
          .p99 = mean,
          .bandwidth = measured_bandwidth(MeasuredCollective::kAllReduce, 4, size, mean)};
}

/// An all-reduce of floats on 4 ranks: of 1 MB 1.05 ms emulated and 1 ms by the reference, of 2 MB 3 and 2 ms, of 4 MB
/// 4 and 4 ms.
CollectiveTable measured_table() {
  CollectiveTable table{.ranks = 4, .type = "float", .redop = "sum"};
  const auto add = [&](int64_t megabytes, Duration emulated, Duration reference) {
    const Bytes size(megabytes * 1'000'000);
    table.rows.push_back(
        {.size = size, .emulated = side_of_run(emulated, size), .reference = side_of_run(reference, size)});
  };
  add(1, microseconds(1050), milliseconds(1));
  add(2, milliseconds(3), milliseconds(2));
  add(4, milliseconds(4), milliseconds(4));
  return table;
}

ClusterRow cluster_row(int64_t megabytes, Duration time, const char* type = "float") {
  return {.size = Bytes(megabytes * 1'000'000), .type = type, .redop = "sum", .out_of_place = time};
}

ClusterMeasurement cluster_of(std::vector<ClusterRow> rows) {
  return {.file = "cluster.txt", .collective = MeasuredCollective::kAllReduce, .ranks = 4, .rows = std::move(rows)};
}

TEST(Cluster, MarksWhatDeviatesByMoreThanATenth) {
  const ClusterComparison comparison = compare_with_cluster(
      measured_table(), cluster_of({cluster_row(1, milliseconds(1)), cluster_row(2, milliseconds(2))}));
  ASSERT_EQ(comparison.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(*comparison.rows[0].emulated_ratio(), 1.05);
  EXPECT_DOUBLE_EQ(*comparison.rows[1].emulated_ratio(), 1.5);
  EXPECT_DOUBLE_EQ(*comparison.rows[1].reference_ratio(), 1);
  // 1 MB in 1 ms is 1 GB/s, by 2 x 3 / 4.
  EXPECT_DOUBLE_EQ(comparison.rows[0].bandwidth.bus, 1.5);
  EXPECT_EQ(comparison.deviating(), 1u);
  EXPECT_THAT(comparison.only_run, ElementsAre(Bytes(4'000'000)));
  const std::string text = cluster_text(comparison);
  EXPECT_THAT(text, ContainsRegex("\n +1000000 +1050 +1000 +1000 +1\\.429 +1\\.500 +1\\.500 +1\\.050 +1\\.000 "));
  EXPECT_THAT(text, ContainsRegex("\n +2000000 .* 1\\.500\\* +1\\.000 "));
  EXPECT_THAT(text, HasSubstr("by more than 10 % : 1 of 2\n"));
  EXPECT_THAT(text, HasSubstr("# Sizes of this run alone    : 4000000\n"));
  const auto json = cluster_json(comparison);
  EXPECT_EQ(json["sizes"][1]["deviates"], true);
  EXPECT_EQ(json["sizes"][0]["deviates"], false);
  EXPECT_EQ(json["deviating"], 1);
}

TEST(Cluster, StandsOnThePageBesideTheRun) {
  const CollectiveTable table = measured_table();
  const ClusterComparison comparison =
      compare_with_cluster(table, cluster_of({cluster_row(1, milliseconds(1)), cluster_row(2, milliseconds(2)),
                                              cluster_row(4, milliseconds(8)), cluster_row(8, milliseconds(9))}));
  const std::string page = html_collective(table, comparison);
  // A curve of its own in both charts, and none without a cluster.
  EXPECT_THAT(page, ContainsRegex(">cluster [0-9.]+</text>(.|\n)*>cluster [0-9.]+</text>"));
  EXPECT_THAT(html_collective(table, {}), Not(HasSubstr("cluster")));
  EXPECT_THAT(page, HasSubstr("cluster.txt; a ratio more than 10 % off 1 has a *: 2 of 3 sizes."));
  EXPECT_THAT(page, HasSubstr("<br>Sizes of the cluster alone : 8000000"));
  const auto of = [](const char* ratios, const char* sides) {
    return fmt::format("{}</td><td>{}</td></tr>", ratios, sides);
  };
  EXPECT_THAT(page, HasSubstr(of("1.050 </td><td class=\"n\">1.000 ", "-")));
  EXPECT_THAT(page, HasSubstr(of("1.500*</td><td class=\"n\">1.000 ", "emulated")));
  EXPECT_THAT(page, HasSubstr(of("0.500*</td><td class=\"n\">0.500*", "emulated, reference")));
}

// The two of floats count, not that of halves; what is left of another size are all.
TEST(Cluster, TakesTheMeanOfWhatIsAlike) {
  const ClusterComparison comparison = compare_with_cluster(
      measured_table(), cluster_of({cluster_row(1, microseconds(900)), cluster_row(1, microseconds(1100)),
                                    cluster_row(1, milliseconds(9), "half"), cluster_row(2, milliseconds(2), "half"),
                                    cluster_row(8, milliseconds(8))}));
  EXPECT_EQ(comparison.rows[0].cluster, milliseconds(1));
  EXPECT_EQ(comparison.rows[1].cluster, milliseconds(2));
  EXPECT_THAT(comparison.only_cluster, ElementsAre(Bytes(8'000'000)));
}

TEST(Cluster, TakesInPlaceWhereThereIsNoOther) {
  ClusterRow row = cluster_row(1, milliseconds(1));
  row.in_place = std::exchange(row.out_of_place, std::nullopt);
  EXPECT_EQ(compare_with_cluster(measured_table(), cluster_of({row})).rows[0].cluster, milliseconds(1));
}

TEST(Cluster, OfAnotherNumberOfRanksIsSaid) {
  ClusterMeasurement cluster = cluster_of({cluster_row(1, milliseconds(1))});
  cluster.ranks = 8;
  EXPECT_THAT(cluster_text(compare_with_cluster(measured_table(), cluster)), HasSubstr("8 ranks, this run 4"));
}

TEST(Cluster, OfAnotherTypeAndWhatWasWrongAreSaid) {
  ClusterMeasurement cluster = cluster_of({cluster_row(1, milliseconds(1), "half")});
  cluster.rows[0].wrong = 3;
  const std::string text = cluster_text(compare_with_cluster(measured_table(), cluster));
  EXPECT_THAT(text, HasSubstr("The cluster measured half sum, this run float sum"));
  EXPECT_THAT(text, HasSubstr("3 wrong values"));
  cluster.rows[0].type = "float";
  cluster.rows[0].redop = "max";
  EXPECT_EQ(compare_with_cluster(measured_table(), cluster).unlike,
            "The cluster measured float max, this run float sum");
  cluster.rows[0].redop = "sum";
  EXPECT_EQ(compare_with_cluster(measured_table(), cluster).unlike, "");
}

TEST(Cluster, RefusesWhatCannotBeCompared) {
  ClusterMeasurement cluster = cluster_of({cluster_row(1, milliseconds(1))});
  cluster.collective = MeasuredCollective::kReduce;
  EXPECT_THROW(compare_with_cluster(measured_table(), cluster), Error);
  const ClusterComparison none = compare_with_cluster(measured_table(), cluster_of({cluster_row(16, milliseconds(1))}));
  EXPECT_EQ(none.rows.size(), 0u);
  EXPECT_THROW(require_common_sizes(none), Error);
}

}  // namespace
}  // namespace rankwire
