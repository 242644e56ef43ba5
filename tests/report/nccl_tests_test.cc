// Output of nccl-tests: written here in the formats of its versions (src/common.cu and src/util.cu
// of 2.0, 2.9, 2.10, 2.13 and 2.19).
#include "emulator/report/nccl_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tests/temporary_folder.h"

namespace rankwire {
namespace {

using ::testing::HasSubstr;

class NcclTests : public ::testing::Test {
 protected:
  ClusterMeasurement read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_nccl_tests(path_);
  }
  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInput);
      return error.what();
    }
    return "accepted";
  }

  testing::TemporaryFolder folder_;
  const std::string path_ = folder_ / "output.txt";
};

constexpr const char* kClusterHeading =
    "#                                                              out-of-place                       in-place        "
    "  \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)     "
    "  \n";

TEST_F(NcclTests, ReadsTheTableOfToday) {
  const ClusterMeasurement output =
      read(std::string(
               "# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907\n"
               "# Collective test starting: all_reduce_perf\n"
               "# nThread 1 nGpus 1 minBytes 8 maxBytes 4096 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1\n"
               "#\n# Using devices\n"
               "#  Rank  0 Group  0 Pid   4711 on       left device  0 [0000:07:00] NVIDIA H100\n"
               "#  Rank  1 Group  0 Pid   4712 on      right device  0 [0000:07:00] NVIDIA H100\n#\n") +
           kClusterHeading +
           "left:4711:4711 [0] NCCL INFO Launch mode Parallel\n"
           "           8             2     float     sum      -1    12.50    0.00    0.00      0    11.25    0.00    "
           "0.00    N/A\n"
           "     1048576        262144     float     sum      -1  1.1e+03    0.95    0.95      0    900.1    1.17    "
           "1.17      0\n"
           "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.475 \n#\n");
  EXPECT_EQ(output.collective, MeasuredCollective::kAllReduce);
  EXPECT_EQ(output.ranks, 2u);
  ASSERT_EQ(output.rows.size(), 2u);
  EXPECT_EQ(output.rows[0].size, Bytes(8));
  EXPECT_EQ(output.rows[0].type, "float");
  EXPECT_EQ(output.rows[0].redop, "sum");
  EXPECT_EQ(output.rows[0].out_of_place, nanoseconds(12'500));
  EXPECT_EQ(output.rows[0].in_place, nanoseconds(11'250));
  EXPECT_EQ(output.rows[1].out_of_place, microseconds(1100));
}

// 2.10 to 2.12: nothing stands where what reduces nothing would name its reduction, but for the root.
TEST_F(NcclTests, ReadsARowWithoutAReduction) {
  const ClusterMeasurement output = read(std::string(kClusterHeading) +
                                         "        1024            64     float              -1    10.00    0.10    "
                                         "0.09  0e+00    9.00    0.11    0.10  0e+00\n");
  EXPECT_EQ(output.collective, std::nullopt);
  EXPECT_EQ(output.rows[0].redop, "none");
  EXPECT_EQ(output.rows[0].out_of_place, microseconds(10));
}

// Before 2.10 columns are those that the collective has.
TEST_F(NcclTests, ReadsTablesWithFewerColumns) {
  const ClusterMeasurement gather = read(
      "#                                               out-of-place                       in-place\n"
      "#       size         count      type     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "#        (B)    (elements)               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
      "          64             1     float    33.75    0.00    0.00  0e+00    33.61    0.00    0.00  0e+00\n");
  EXPECT_EQ(gather.rows[0].out_of_place, nanoseconds(33'750));
  EXPECT_EQ(gather.rows[0].redop, "");
  const ClusterMeasurement broadcast = read(
      "#       size         count      type    root     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "          64            16     float       0    20.00    0.00    0.00  0e+00    21.00    0.00    0.00  0e+00\n");
  EXPECT_EQ(broadcast.rows[0].in_place, microseconds(21));
}

// 2.0 has milliseconds.
TEST_F(NcclTests, ReadsTheFirstTable) {
  const ClusterMeasurement output = read(
      "#                                             out-of-place                    in-place\n"
      "#  bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"
      "  1048576        262144   float     sum    2.059   0.51   0.51    N/A    3.314   0.32   0.32    N/A\n");
  EXPECT_EQ(output.rows[0].out_of_place, microseconds(2059));
}

TEST_F(NcclTests, ReadsColumnsOfItsOptions) {
  const ClusterMeasurement output = read(
      "#       size  count  type  redop  root  cputime  algbw  busbw  #wrong  i_min  i_max  i_p99  i_cv%  cputime  "
      "algbw  "
      "busbw  #wrong  i_min  i_max  i_p99  i_cv%  timestamp\n"
      "8 2 float sum -1 5.00 0.00 0.00 0 1.0 2.0 3.0 4.0 6.00 0.00 0.00 0 1.0 2.0 3.0 4.0 2026-07-09 16:03:21\n");
  EXPECT_EQ(output.rows[0].out_of_place, microseconds(5));
  EXPECT_EQ(output.rows[0].in_place, microseconds(6));
}

TEST_F(NcclTests, ReadsLinesThatMpirunHasTagged) {
  const ClusterMeasurement output = read(
      "[1,0]<stdout>:#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "[1,0]<stdout>:           8             2     float     sum      -1    12.50    0.00    0.00      0\n");
  EXPECT_EQ(output.rows[0].out_of_place, nanoseconds(12'500));
  EXPECT_EQ(output.rows[0].in_place, std::nullopt);
}

std::string output_of_ranks(uint32_t ranks, int64_t size) {
  std::string text;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    text +=
        fmt::format("#  Rank  {} Group  0 Pid   4711 on       left device  {} [0000:07:00] NVIDIA H100\n", rank, rank);
  return text + kClusterHeading + fmt::format("{} 2 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n", size);
}

TEST_F(NcclTests, OfSeveralOutputsRanksAreThoseOfOne) {
  const ClusterMeasurement output = read(output_of_ranks(2, 8) + output_of_ranks(2, 16));
  EXPECT_EQ(output.ranks, 2u);
  EXPECT_EQ(output.rows.size(), 2u);
  EXPECT_THAT(refusal(output_of_ranks(4, 8) + output_of_ranks(2, 16)),
              HasSubstr("has output of 2 ranks after output of 4"));
}

// Neither the time nor the free memory is a row.
TEST_F(NcclTests, PassesOverOtherNumbers) {
  const ClusterMeasurement output =
      read(output_of_ranks(2, 8) + "2026-07-09 16:03:21 left: done\n12.5 GiB free\n-1 left\n");
  EXPECT_EQ(output.rows.size(), 1u);
}

TEST_F(NcclTests, LeavesOutSizesWithoutData) {
  const ClusterMeasurement output = read(std::string(kClusterHeading) +
                                         "0 0 float none -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n"
                                         "64 4 float none -1 6.00 0.00 0.00 0 6.00 0.00 0.00 0\n");
  ASSERT_EQ(output.rows.size(), 1u);
  EXPECT_EQ(output.rows[0].size, Bytes(64));
}

TEST_F(NcclTests, ReadsJson) {
  const ClusterMeasurement output = read(
      R"({"version":3,"args":["./build/all_gather_perf","-J","x.json"],"nccl_version":22907,)"
      R"("config":{"nthreads":1,"devices":[{"rank":0},{"rank":1},{"rank":2}]},)"
      R"("results":[{"size":96,"count":8,"type":"float","redop":"none","root":"    -1",)"
      R"("out_of_place":{"time":12.5,"alg_bw":0.007,"bus_bw":0.005,"nwrong":0.0},)"
      R"("in_place":{"time":11.0,"alg_bw":0.008,"bus_bw":0.005,"nwrong":null},"actual_iterations":20},)"
      R"({"size":192,"count":16,"type":"float","redop":"none","root":"-1","out_of_place":null,)"
      R"("in_place":{"cpu_time":13.0,"alg_bw":0.1,"bus_bw":0.1,"nwrong":null}}],)"
      R"("out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidth":{"bandwidth":0.005,"okay":"unchecked"}})");
  EXPECT_EQ(output.collective, MeasuredCollective::kAllGather);
  EXPECT_EQ(output.ranks, 3u);
  ASSERT_EQ(output.rows.size(), 2u);
  EXPECT_EQ(output.rows[0].time(), nanoseconds(12'500));
  EXPECT_EQ(output.rows[1].time(), microseconds(13));
}

TEST_F(NcclTests, NamesFileAndLineOfWhatIsWrong) {
  const std::string heading = kClusterHeading;
  EXPECT_THAT(refusal(heading + "8 2 float sum -1 5.00 0.00\n"),
              HasSubstr(path_ + ":4: has 7 columns, but the heading has 13"));
  EXPECT_THAT(refusal(heading + "8 2 float sum -1 fast 0.00 0.00 0 5.00 0.00 0.00 0\n"),
              HasSubstr(path_ + ":4: 'fast' is not a time"));
  EXPECT_THAT(refusal(heading + "8 2 float sum -1 0.00 0.00 0.00 0 5.00 0.00 0.00 0\n"),
              HasSubstr(":4: '0.00' is not a time"));
  EXPECT_THAT(refusal(heading + "99999999999999999999 2 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n"),
              HasSubstr("is not a size in bytes"));
  EXPECT_THAT(refusal(heading + "-1024 2 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n"),
              HasSubstr(path_ + ":4: '-1024' is not a size in bytes"));
  EXPECT_THAT(refusal(heading + "1024.0 256 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n"),
              HasSubstr(path_ + ":4: '1024.0' is not a size in bytes"));
  for (const char* size : {"40x6", "4K", "0x1000", "x4096"})
    EXPECT_THAT(refusal(heading + size + " 256 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n"),
                HasSubstr(path_ + ":4: '" + size + "' is not a size in bytes"));
  EXPECT_THAT(refusal(heading + "1024.0 256 float\n"), HasSubstr(path_ + ":4: has 3 columns"));
  EXPECT_THAT(refusal(heading), HasSubstr("has no line"));
  EXPECT_THAT(refusal("mpirun: command not found\n"), HasSubstr("has no table of nccl-tests"));
  EXPECT_THAT(refusal(""), HasSubstr("has no table of nccl-tests"));
  EXPECT_THAT(refusal("{\"results\":\n[{\"size\":8,"), HasSubstr(path_ + ":2: is not JSON"));
  EXPECT_THAT(refusal("{\"version\":3}"), HasSubstr("has no 'results'"));
  EXPECT_THAT(refusal("{\"results\":[{\"size\":8}]}"), HasSubstr("results[0] has no time"));
  EXPECT_THAT(refusal("{\"results\":[{\"size\":\"8\"}]}"), HasSubstr("results[0] has no whole number 'size'"));
  EXPECT_THAT(refusal("{\"results\":[{\"size\":8,\"out_of_place\":{\"time\":5}},{\"size\":-8}]}"),
              HasSubstr("results[1] has a 'size' that is no number of bytes: -8"));
  EXPECT_THROW(read_nccl_tests(folder_ / "absent"), Error);
}

}  // namespace
}  // namespace rankwire
