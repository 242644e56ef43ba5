// What a run folder says of rates over time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "emulator/record/database.h"
#include "emulator/report/output_file.h"
#include "emulator/report/rate_statistics.h"
#include "emulator/report/timeline_rates.h"
#include "tests/report/sample_record.h"

namespace rankwire {
namespace {

using testing::at_microsecond;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

/// Of a run of 50 us: port 0 sends 25,000 bytes in the second ten, port 1 receives as much and sends 1,000 at the end.
/// The queue pair from rank 0 to rank 1 has 100 Gbit/s from 20 us on and 20 from 40 us on, and once 10 before that; the
/// other one has a window.
RateSampling sampled() {
  const auto gbps = [](int64_t n) { return Bandwidth(n * 1'000'000'000); };
  const auto row = [](int64_t us, uint32_t connection, Bandwidth rate, Bandwidth lowest) {
    return AllowanceRow{.time = at_microsecond(us),
                        .connection = ConnectionId(connection),
                        .member = 0,
                        .source = {},
                        .destination = {},
                        .rate = rate,
                        .lowest_rate = lowest,
                        .window = {},
                        .smallest_window = {}};
  };
  RateSampling rates{.port_interval = microseconds(10),
                     .allowance_interval = microseconds(20),
                     .lost = 3,
                     .ports = {{at_microsecond(20), PortId(0), Bytes(25'000), Bytes(0)},
                               {at_microsecond(20), PortId(1), Bytes(0), Bytes(25'000)},
                               {at_microsecond(50), PortId(1), Bytes(1'000), Bytes(0)}},
                     .allowances = {row(20, 0, gbps(100), gbps(100)), row(40, 0, gbps(20), gbps(10)),
                                    row(40, 1, gbps(100), gbps(100))}};
  rates.allowances.back().window = Bytes(8'192), rates.allowances.back().smallest_window = Bytes(4'096);
  return rates;
}

RunEnd end_with(std::optional<RateSampling> rates) {
  RunEnd end = testing::sample_end(microseconds(50));
  end.rates = std::move(rates);
  end.ports = {{.port = PortId(0), .name = "p0, \"x\""}, {.port = PortId(1), .name = "p1"}};
  for (uint32_t c = 0; c < 2; ++c) {
    FlowRow& flow = end.flows.emplace_back();
    flow.connection.id = flow.counters.connection = ConnectionId(c);
    flow.connection.job = JobId(0);
    flow.connection.source = RankId(c), flow.connection.destination = RankId(1 - c);
  }
  return end;
}

TEST(RatesReport, CsvIsExact) {
  const SampleReport sample(end_with(sampled()));
  EXPECT_EQ(sample.csv("port_rates.csv"),
            "fidelity,time_ps,interval_ps,port,name,tx_bytes,rx_bytes\n"
            "emulated,20000000,10000000,0,\"p0, \"\"x\"\"\",25000,0\n"
            "emulated,20000000,10000000,1,p1,0,25000\n"
            "emulated,50000000,10000000,1,p1,1000,0\n");
  EXPECT_EQ(sample.csv("allowances.csv"),
            "fidelity,time_ps,connection,member,source,destination,rate_bps,lowest_rate_bps,window_bytes,"
            "smallest_window_bytes\n"
            "emulated,20000000,0,0,0,1,100000000000,100000000000,,\n"
            "emulated,40000000,0,0,0,1,20000000000,10000000000,,\n"
            "emulated,40000000,1,0,1,0,100000000000,100000000000,8192,4096\n");
}

TEST(RatesReport, SummaryAndPageSayWhatThereIs) {
  const SampleReport sample(end_with(sampled()));
  const nlohmann::ordered_json expected = {{"port_interval_ps", 10'000'000},
                                           {"port_rows", 3},
                                           {"allowance_interval_ps", 20'000'000},
                                           {"allowance_rows", 3},
                                           {"rows_lost", 3}};
  EXPECT_EQ(sample.summary().at("rates"), expected);
  const std::string page = sample.page();
  EXPECT_THAT(page, HasSubstr("<title>Rates of ports over time</title>"));
  EXPECT_THAT(page, HasSubstr("<title>What queue pairs might send over time</title>"));
  EXPECT_THAT(page, HasSubstr("Ports every 10 us"));
  EXPECT_THAT(page, HasSubstr("p0, &quot;x&quot;"));
  EXPECT_THAT(page, HasSubstr("3 samples are missing"));
}

TEST(RatesReport, WithoutSamplesThereIsNothing) {
  const SampleReport sample;
  EXPECT_TRUE(sample.summary().at("rates").is_null());
  EXPECT_THAT(sample.page(), Not(HasSubstr("Rates and windows")));
  for (const char* file : {"port_rates.csv", "allowances.csv"}) {
    const std::string csv = sample.csv(file);
    EXPECT_EQ(std::ranges::count(csv, '\n'), 1) << file;
  }
}

// Records of an earlier rankwire have the same version and lack these tables.
TEST(RatesReport, ReadsRecordsWithoutTheirTables) {
  const SampleReport sample(end_with(sampled()));
  Database(sample.folder() / "run.sqlite", Database::Access::kCreate)
      .execute("DROP TABLE rate_sampling; DROP TABLE port_rates; DROP TABLE allowances;");
  const RunReader reader(sample.folder());
  EXPECT_FALSE(reader.rates(*reader.emulated()));
}

// 25,000 bytes in 10 us are 20 Gbit/s. A column is 50 us / 400 = 125 ns: 10 us to 20 us are columns 80 to 159.
TEST(RateStatistics, PortsHaveMeansByColumn) {
  const std::vector<PortRateStatistics> ports = port_rate_statistics(sampled(), at_microsecond(50));
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_EQ(ports[0].port, PortId(0));
  EXPECT_EQ(ports[0].tx, Bytes(25'000));
  EXPECT_NEAR(ports[0].highest_tx, 20e9, 1);
  EXPECT_EQ(ports[0].tx_column[79], 0);
  EXPECT_NEAR(ports[0].tx_column[80], 20e9, 1);
  EXPECT_NEAR(ports[0].tx_column[159], 20e9, 1);
  EXPECT_EQ(ports[0].tx_column[160], 0);
  EXPECT_NEAR(ports[1].rx_column[100], 20e9, 1);
  EXPECT_NEAR(ports[1].tx_column[399], 0.8e9, 1);
}

// From its first sample at 20 us on the first queue pair has 100 Gbit/s for 20 us and 20 for 10: 73.3 in the mean.
TEST(RateStatistics, AllowancesHoldUntilTheNext) {
  const std::vector<AllowanceStatistics> all = allowance_statistics(sampled(), at_microsecond(50));
  ASSERT_EQ(all.size(), 2u);
  const AllowanceStatistics &held_back = all[0], &other = all[1];
  EXPECT_EQ(held_back.source, RankId(0));
  EXPECT_EQ(held_back.destination, RankId(1));
  EXPECT_EQ(held_back.samples, 2u);
  EXPECT_NEAR(held_back.mean_rate, (100e9 * 20 + 20e9 * 10) / 30, 1);
  EXPECT_EQ(held_back.lowest_rate, Bandwidth(10'000'000'000));
  EXPECT_FALSE(held_back.smallest_window);
  EXPECT_EQ(held_back.rate_column[158], 0) << "nothing is known";
  EXPECT_EQ(held_back.rate_column[200], 100e9);
  EXPECT_EQ(held_back.rate_column[319], 10e9) << "the lowest of the interval that ends there";
  EXPECT_EQ(held_back.rate_column[320], 20e9);
  EXPECT_EQ(other.smallest_window, Bytes(4'096));
  EXPECT_EQ(other.mean_window, 8'192);
  EXPECT_EQ(other.window_column[399], 8'192);
}

/// Names and values of counters in the order in which they are written.
std::vector<std::string> counters(const SampleReport& sample, size_t most) {
  {
    OutputFile out(sample.folder() / "counters.json");
    out << "[";
    {
      TraceEvents events(out);
      const RunReader record(sample.folder());
      write_rate_counters(events, record, 5, 100);
      write_allowance_counters(events, record, most);
    }
    out << "]";
    out.commit();
  }
  std::vector<std::string> lines;
  for (const auto& event : nlohmann::json::parse(testing::file_text(sample.folder() / "counters.json")))
    if (event["ph"] == "C")
      lines.push_back(event["name"].get<std::string>() + " " + std::to_string(event["ts"].get<int64_t>()) + " " +
                      event["args"].dump());
  return lines;
}

// Though the record has no messages: intervals of 10 us, of which a point is the mean.
TEST(RateCounters, AreWhatPassedThePorts) {
  const std::vector<std::string> lines = counters(SampleReport(end_with(sampled())), 100);
  EXPECT_THAT(lines,
              ::testing::IsSupersetOf({"p0, \"x\" sent 0 {\"bit/s\":0}", "p0, \"x\" sent 10 {\"bit/s\":20000000000}",
                                       "p0, \"x\" sent 20 {\"bit/s\":0}", "p1 sent 40 {\"bit/s\":800000000}",
                                       "rank 0 to rank 1 (connection 0.0) rate 20 {\"bit/s\":100000000000}",
                                       "rank 0 to rank 1 (connection 0.0) rate 40 {\"bit/s\":20000000000}",
                                       "rank 1 to rank 0 (connection 1.0) window 40 {\"bytes\":8192}"}));
}

// Two samples at the most: of the first queue pair's the one with the lower rate.
TEST(RateCounters, ManySamplesAreThinned) {
  const std::vector<std::string> lines = counters(SampleReport(end_with(sampled())), 2);
  EXPECT_THAT(lines, ::testing::Contains("rank 0 to rank 1 (connection 0.0) rate 40 {\"bit/s\":20000000000}"));
  EXPECT_THAT(lines, Not(::testing::Contains(HasSubstr("rate 20 "))));
}

}  // namespace
}  // namespace rankwire
