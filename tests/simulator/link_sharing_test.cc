// Who shares links with whom: by hand, and in the model.
#include "emulator/simulator/link_sharing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/simulator/star.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kByteRate = 8'000'000'000'000;  // 1 byte a picosecond

Route over(std::vector<LinkUse> links) {
  return {.links = std::move(links), .framing = {}};
}

std::vector<Link> links(size_t count) {
  return std::vector<Link>(count);
}

std::string text_of(const SharedLink& row) {
  return fmt::format("link {}: {} beside {} for {} of {} ps, {} of {} B", row.link.value, row.job.value,
                     row.other.value, row.shared.ps, row.time.ps, row.shared_bytes.count, row.bytes.count);
}

std::vector<std::string> texts(const LinkSharing& sharing) {
  std::vector<std::string> lines;
  for (const SharedLink& row : sharing.shared()) lines.push_back(text_of(row));
  return lines;
}

// Job 0 is on links 0 and 1 from 0 to 100 ps, job 1 on links 1 and 2 from 60 to 160 ps. On link 1 job 0 sends 60 B
// alone at 1 B/ps and 20 B at half of that, job 1 as much beside it and 60 B alone.
TEST(LinkSharing, CountsWhereJobsMeet) {
  const Route first = over({{LinkId(0), 0}, {LinkId(1), 1}}), second = over({{LinkId(1), 0}, {LinkId(2), 1}});
  const LinkSharing::Flow flows[] = {{JobId(0), &first}, {JobId(1), &second}};
  LinkSharing sharing(links(3), flows);
  sharing.begin(0, Time(0));
  sharing.set_rate(0, kByteRate, Time(0));
  sharing.begin(1, Time(60));
  sharing.set_rate(0, kByteRate / 2, Time(60));
  sharing.set_rate(1, kByteRate / 2, Time(60));
  sharing.end(0, Time(100));
  sharing.set_rate(1, kByteRate, Time(100));
  sharing.end(1, Time(160));
  EXPECT_THAT(texts(sharing), ElementsAre("link 1: 0 beside 1 for 40 of 100 ps, 20 of 80 B",
                                          "link 1: 1 beside 0 for 40 of 100 ps, 20 of 80 B"));
}

// Flows of one job are no company, and of three jobs each two are told. Job 0 has two flows of 1/4 B/ps each from 0 to
// 40 ps, job 1 a half from 0 to 20 ps, job 2 a half from 20 to 40 ps: the last two never meet.
TEST(LinkSharing, FlowsOfAJobAddUp) {
  const Route way = over({{LinkId(0), 0}});
  const LinkSharing::Flow flows[] = {{JobId(0), &way}, {JobId(0), &way}, {JobId(1), &way}, {JobId(2), &way}};
  LinkSharing sharing(links(1), flows);
  for (const uint32_t flow : {0, 1, 2}) {
    sharing.begin(flow, Time(0));
    sharing.set_rate(flow, flow == 2 ? kByteRate / 2 : kByteRate / 4, Time(0));
  }
  sharing.end(2, Time(20));
  sharing.begin(3, Time(20));
  sharing.set_rate(3, kByteRate / 2, Time(20));
  sharing.end(3, Time(40));
  sharing.end(0, Time(40));
  sharing.end(1, Time(40));
  EXPECT_THAT(
      texts(sharing),
      ElementsAre("link 0: 0 beside 1 for 20 of 40 ps, 10 of 20 B", "link 0: 0 beside 2 for 20 of 40 ps, 10 of 20 B",
                  "link 0: 1 beside 0 for 20 of 20 ps, 10 of 10 B", "link 0: 2 beside 0 for 20 of 20 ps, 10 of 10 B"));
}

// Of a run that was ended the last time told counts: 30 ps after both have begun, at 1/2 B/ps each.
TEST(LinkSharing, FlowsThatHaveNotEndedCountSoFar) {
  const Route way = over({{LinkId(0), 0}});
  const LinkSharing::Flow flows[] = {{JobId(0), &way}, {JobId(1), &way}};
  LinkSharing sharing(links(1), flows);
  sharing.begin(0, Time(10));
  sharing.set_rate(0, kByteRate / 2, Time(10));
  sharing.begin(1, Time(20));
  sharing.set_rate(1, kByteRate / 2, Time(20));
  sharing.set_rate(1, kByteRate / 4, Time(50));
  EXPECT_THAT(texts(sharing), ElementsAre("link 0: 0 beside 1 for 30 of 40 ps, 15 of 20 B",
                                          "link 0: 1 beside 0 for 30 of 30 ps, 15 of 15 B"));
}

// Of a flow that goes over two links in parts, a quarter and the rest, each has its part of 100 B.
TEST(LinkSharing, APartOfAFlowIsAPartOfItsBytes) {
  const Route parts = over({{LinkId(0), 0, LinkUse::kWhole / 4}, {LinkId(1), 0, LinkUse::kWhole * 3 / 4}});
  const LinkSharing::Flow flows[] = {{JobId(0), &parts}, {JobId(1), &parts}};
  LinkSharing sharing(links(2), flows);
  for (const uint32_t flow : {0, 1}) {
    sharing.begin(flow, Time(5));
    sharing.set_rate(flow, kByteRate, Time(5));
  }
  for (const uint32_t flow : {0, 1}) sharing.end(flow, Time(105));
  EXPECT_THAT(texts(sharing), ElementsAre("link 0: 0 beside 1 for 100 of 100 ps, 25 of 25 B",
                                          "link 0: 1 beside 0 for 100 of 100 ps, 25 of 25 B",
                                          "link 1: 0 beside 1 for 100 of 100 ps, 75 of 75 B",
                                          "link 1: 1 beside 0 for 100 of 100 ps, 75 of 75 B"));
}

// 2048 links on which 33 jobs meet have 2048 * 33 * 33 = 2,230,272 pairs, more than 2^21; with 32 they have just 2^21.
TEST(LinkSharing, TooManyPairsAreToldBeforehand) {
  std::vector<LinkUse> all;
  for (uint32_t link = 0; link < 2048; ++link) all.push_back({LinkId(link), link});
  const Route way = over(all);
  std::vector<LinkSharing::Flow> flows;
  for (uint32_t job = 0; job < 32; ++job) flows.push_back({JobId(job), &way});
  flows.push_back({JobId::invalid(), &way});
  EXPECT_FALSE(LinkSharing::is_too_much(links(2048), flows)) << "a flow of no job meets nobody";
  flows.push_back({JobId(32), &way});
  EXPECT_TRUE(LinkSharing::is_too_much(links(2048), flows));
}

// Ranks 0, of job 0, and 1, of job 1, send 4096 bytes each to rank 2, whose port they share: 4096 + 82 + 20 bytes on
// the line, at half of 80 ps a byte each. Rank 0 begins 100 ns earlier and has sent 1250 bytes by then. Both then have
// half the rate until rank 0 has sent the other 2948, in 471,680 ps; rank 1 sends the 1250 bytes that are left at the
// whole rate.
TEST(LinkSharing, TheModelTellsOfPortsThatJobsShare) {
  const Star star(3);
  NetworkModel model(star.network());
  std::vector<JobId> jobs;
  for (const Connection& connection : star.plan().connections) jobs.push_back(JobId(connection.source.value));
  ASSERT_TRUE(model.watch_sharing(jobs));
  model.prepare(star.plan());
  const Message first = star.message(0, 2, Bytes(4096)), second = star.message(1, 2, Bytes(4096));
  model.post(Time(), {&first, 1});
  Event none[1];
  EXPECT_EQ(model.poll(Time(), none), 0u);
  model.post(Time(100'000), {&second, 1});
  drain(model, Time(100'000));
  const std::vector<SharedLink> rows = model.sharing()->shared();
  ASSERT_EQ(rows.size(), 2u);
  const uint32_t port = star.network().routes[first.connection.value].links.back().link.value;
  EXPECT_EQ(text_of(rows[0]), fmt::format("link {}: 0 beside 1 for 471680 of 571680 ps, 2948 of 4198 B", port));
  EXPECT_EQ(text_of(rows[1]), fmt::format("link {}: 1 beside 0 for 471680 of 571680 ps, 2948 of 4198 B", port));
}

// The same two send at once, at 160 ps a byte each. From 160 ns on, when each has sent 1000 bytes, the port has a tenth
// of its rate: until 1760 ns each sends 1000 more at 1600 ps a byte. The 2198 that are left take 160 ps a byte again,
// 351,680 ps. It is one port all the time.
TEST(LinkSharing, ADegradedCableIsTheSameCable) {
  const Star star(3);
  Network network = star.network();
  const uint32_t ways[] = {star.connection(0, 2).value, star.connection(1, 2).value};
  const LinkId port = network.routes[ways[0]].links.back().link;
  Link slow = network.links[port.value];
  slow.bandwidth = Bandwidth(kRate.bits_per_second / 10);
  slow.whole = port;
  slow.name += " (degraded)";
  const LinkId degraded(static_cast<uint32_t>(network.links.size()));
  network.links.push_back(slow);
  for (const uint32_t way : ways) {
    std::vector<LinkUse> links = network.routes[way].links;
    ASSERT_EQ(links.back().link, port);
    links.back().link = degraded;
    network.reroutes.push_back({Time(160'000), way, links});
  }
  for (const uint32_t way : ways) network.reroutes.push_back({Time(1'760'000), way, network.routes[way].links});
  NetworkModel model(network);
  std::vector<JobId> jobs;
  for (const Connection& connection : star.plan().connections) jobs.push_back(JobId(connection.source.value));
  ASSERT_TRUE(model.watch_sharing(jobs));
  model.prepare(star.plan());
  const Message messages[] = {star.message(0, 2, Bytes(4096)), star.message(1, 2, Bytes(4096))};
  model.post(Time(), messages);
  drain(model);
  const std::vector<SharedLink> rows = model.sharing()->shared();
  ASSERT_EQ(rows.size(), 2u);
  for (uint32_t job = 0; job < 2; ++job) {
    EXPECT_EQ(text_of(rows[job]),
              fmt::format("link {}: {} beside {} for 2111680 of 2111680 ps, 4198 of 4198 B", port.value, job, 1 - job));
  }
  EXPECT_EQ(model.link_name(rows[0].link), network.links[port.value].name);
}

// Ranks 0 and 1 send to each other, of one job, and ranks 2 and 3, of another: no port is both jobs'.
TEST(LinkSharing, JobsThatMeetNowhereShareNothing) {
  const Star star(4);
  NetworkModel model(star.network());
  std::vector<JobId> jobs;
  for (const Connection& connection : star.plan().connections) {
    const uint32_t source = connection.source.value / 2, destination = connection.destination.value / 2;
    jobs.push_back(source == destination ? JobId(source) : JobId::invalid());
  }
  ASSERT_TRUE(model.watch_sharing(jobs));
  model.prepare(star.plan());
  const Message messages[] = {star.message(0, 1, Bytes(4096)), star.message(1, 0, Bytes(4096)),
                              star.message(2, 3, Bytes(4096)), star.message(3, 2, Bytes(4096))};
  model.post(Time(), messages);
  EXPECT_EQ(drain(model).size(), 8u);
  EXPECT_THAT(model.sharing()->shared(), IsEmpty());
}

TEST(LinkSharing, NobodyCountsUnasked) {
  const Star star(2);
  const NetworkModel model(star.network());
  EXPECT_EQ(model.sharing(), nullptr);
}

}  // namespace
}  // namespace rankwire
