#include "converters/missing_ranks.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "converters/call_writer.h"
#include "converters/equal_groups.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_named;
using ::testing::Optional;
using testing::read_written;

TEST(EqualGroups, StandToARankAsTheOtherToItsMembers) {
  // Of 8 ranks, tensor-parallel pairs are neighbours, and data-parallel ones stand 2 apart in each half.
  EXPECT_THAT(equal_group({0, 1}, 5, 8), Optional(ElementsAre(4, 5)));
  EXPECT_THAT(equal_group({1, 3}, 6, 8), Optional(ElementsAre(4, 6)));
  EXPECT_THAT(equal_group({1, 5}, 2, 8), Optional(ElementsAre(2, 6)));
  EXPECT_THAT(equal_group({0, 1, 5}, 5, 8), Optional(ElementsAre(0, 1, 5)));
  EXPECT_THAT(equal_group({3}, 5, 8), Optional(ElementsAre(5)));
  // No division of all ranks: uneven, across the border of two, or 8 ranks in threes.
  EXPECT_EQ(equal_group({0, 1, 5}, 2, 8), std::nullopt);
  EXPECT_EQ(equal_group({1, 2}, 3, 8), std::nullopt);
  EXPECT_EQ(equal_group({0, 1, 2}, 3, 8), std::nullopt);
}

TEST(EqualGroups, RanksInText) {
  const std::vector<int64_t> ranks{0, 1, 2, 5, 7, 8};
  EXPECT_EQ(ranks_text(ranks), "0-2, 5, 7-8");
}

/// Four ranks: pipelines {0, 2} and {1, 3}, whose stages hold pairs {0, 1} and {2, 3}.
class MissingRanks : public ::testing::Test {
 protected:
  void record(uint32_t rank, Bytes reduced, bool in_pipeline = true) {
    std::filesystem::create_directories(folder_ / "out");
    const std::vector<int64_t> pipeline{rank % 2, rank % 2 + 2}, pair{rank - rank % 2, rank - rank % 2 + 1};
    const std::vector<ProcessGroup> groups{{fmt::format("p{}", pipeline[0]), pipeline},
                                           {fmt::format("t{}", pair[0]), pair}};
    NodeWriter writer(trace_file(conversion_.prefix, rank));
    CallWriter calls({.path = "", .rank = rank, .world_size = 4, .groups = groups}, writer);
    calls.write_groups();
    PytorchCall reduce{.kind = ActionKind::kAllReduce, .group = groups[1].name, .input = reduced};
    const auto first = calls.write(reduce, "reduce", {}, std::nullopt, {});
    PytorchCall pass{
        .kind = rank < 2 ? ActionKind::kSend : ActionKind::kReceive, .group = groups[0].name, .input = Bytes(7)};
    pass.rank = rank < 2 ? 1 : 0;
    if (in_pipeline) calls.write(pass, "pass", {}, std::nullopt, {first});
    conversion_.add(writer);
    recorded_.push_back({.rank = rank, .groups = groups});
  }
  std::string error_of(uint32_t ranks, const FillOptions& options) {
    try {
      complete_ranks(recorded_, ranks, options, conversion_);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  Conversion conversion_{.prefix = (folder_ / "out/trace").string()};
  std::vector<RecordedRank> recorded_;
};

TEST_F(MissingRanks, AreNamedUnlessTheyAreFilled) {
  record(0, Bytes(100));
  record(2, Bytes(60));
  complete_ranks(recorded_, 6, {}, conversion_);
  EXPECT_THAT(conversion_.warnings, ElementsAre(HasSubstr("ranks 1, 3-5 of 6")));
  EXPECT_EQ(conversion_.ranks, 2);
}

TEST_F(MissingRanks, AreCopiesOfThoseAtTheSamePlace) {
  record(0, Bytes(100));
  record(2, Bytes(60));
  complete_ranks(recorded_, 4, {.fill_missing = true}, conversion_);
  EXPECT_THAT(conversion_.warnings, IsEmpty());
  EXPECT_THAT(conversion_.assumptions, ElementsAre("ranks 1 do what rank 0 does", "ranks 3 do what rank 2 does"));
  EXPECT_EQ(conversion_.ranks, 4);
  EXPECT_EQ(conversion_.counts.bytes, 2 * (100 + 7 + 60));
  const auto first = read_written(trace_file(conversion_.prefix, 1)),
             last = read_written(trace_file(conversion_.prefix, 3));
  // The pair keeps its name, of the other pipeline none was recorded.
  EXPECT_EQ(node_named(first, "reduce").group, "t0");
  EXPECT_EQ(node_named(first, "reduce").size, 100);
  EXPECT_THAT(first.front().metadata, HasSubstr(R"("pg_name":"1, 3","ranks":[1,3])"));
  EXPECT_THAT(first.front().metadata, HasSubstr(R"("pg_name":"t0","ranks":[0,1])"));
  EXPECT_EQ(node_named(first, "pass").source, 1);
  EXPECT_EQ(node_named(first, "pass").destination, 3);
  EXPECT_EQ(node_named(last, "pass").source, 1);
  EXPECT_EQ(node_named(last, "pass").destination, 3);
  EXPECT_EQ(node_named(first, "pass").tag, node_named(last, "pass").tag);
}

TEST_F(MissingRanks, CopiesOfARankOfWhichNotAllIsKnownAreSaidToLackItAsWell) {
  record(0, Bytes(100));
  record(2, Bytes(60));
  recorded_[1].unknown = 5;
  complete_ranks(recorded_, 4, {.fill_missing = true}, conversion_);
  EXPECT_THAT(conversion_.warnings,
              ElementsAre(HasSubstr("ranks 3 lack communication as rank 2 does, of which 5 operations")));
}

TEST_F(MissingRanks, WithoutARankAtTheirPlaceAreAnError) {
  record(0, Bytes(100));
  record(1, Bytes(100));
  EXPECT_THAT(
      error_of(4, {.fill_missing = true}),
      HasSubstr("rank 2 has no trace and can be a copy of no recorded rank: not of rank 0, which is at another place"));
}

TEST_F(MissingRanks, AreNoCopiesOfARankWithOtherCalls) {
  record(0, Bytes(100), false);
  record(3, Bytes(60), false);
  complete_ranks(recorded_, 4, {.fill_missing = true}, conversion_);
  // Rank 2 would do what rank 0 does, but for its peer 3, whose calls are others.
  EXPECT_THAT(conversion_.assumptions, ElementsAre("ranks 1 do what rank 0 does", "ranks 2 do what rank 3 does"));
}

}  // namespace
}  // namespace rankwire
