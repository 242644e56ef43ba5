#include <gmock/gmock.h>

#include <cstring>

#include "base/error.h"
#include "converters/goal.h"
#include "tests/converters/written_trace.h"

namespace rankwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// A schedule as spcl/LogGOPSim's Parser.hpp lays it out: written here from that description alone.
class BinarySchedule {
 public:
  struct Operation {
    uint32_t dependencies;
    uint8_t type;
    uint32_t peer;
    uint64_t size;
    uint32_t tag;
    uint8_t cpu;
    std::vector<uint32_t> later, later_than_begin;
  };

  explicit BinarySchedule(const std::vector<std::vector<Operation>>& ranks) {
    put<uint64_t>(4223);
    put(static_cast<uint32_t>(ranks.size()));
    put<uint16_t>(0);
    const size_t table = bytes_.size();
    bytes_.resize(table + 16 * ranks.size());
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      const uint64_t begin = bytes_.size() - 8;
      add(ranks[rank]);
      const uint64_t end = bytes_.size() - 8;
      std::memcpy(bytes_.data() + table + 16 * rank, &begin, 8);
      std::memcpy(bytes_.data() + table + 16 * rank + 8, &end, 8);
    }
  }

  std::string bytes() const { return bytes_; }

 private:
  template <class Value>
  void put(Value value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const std::vector<Operation>& operations) {
    put(static_cast<uint32_t>(operations.size()));
    put<uint32_t>(1);
    put<uint32_t>(0);
    std::vector<uint32_t> lists;
    for (const Operation& operation : operations) {
      put(operation.dependencies);
      put(operation.type);
      put(operation.peer);
      put(operation.size);
      put(operation.tag);
      put(operation.cpu);
      put<uint8_t>(0);
      for (const std::vector<uint32_t>* list : {&operation.later, &operation.later_than_begin}) {
        put(static_cast<uint32_t>(list->size()));
        put(static_cast<uint32_t>(lists.size()));
        lists.insert(lists.end(), list->begin(), list->end());
      }
    }
    for (const uint32_t later : lists) put(later);
  }

  std::string bytes_;
};

/// calc 1500, then send 4096 to 1 with tag 3; calc 600 may begin when the send has begun.
const std::string kTwoRanks =
    BinarySchedule({{{0, 3, 0, 1500, 0, 1, {1}, {}}, {1, 1, 1, 4096, 3, 0, {}, {2}}, {1, 3, 0, 600, 0, 0, {}, {}}},
                    {{0, 2, 0, 4096, 3, 0, {}, {}}}})
        .bytes();

std::string error_of(const std::string& bytes) {
  try {
    parse_goal_binary("s.bin", bytes, [](uint32_t, const GoalRank&) {});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    return error.what();
  }
  return "no error";
}

std::string changed(size_t at, char value) {
  std::string bytes = kTwoRanks;
  bytes.at(at) = value;
  return bytes;
}

TEST(GoalBinary, OperationsAndTheirOrder) {
  testing::TemporaryFolder folder;
  ConversionProgress progress;
  const Conversion made = convert_goal(testing::write_text(folder / "s.bin", kTwoRanks), folder / "out", progress);
  ASSERT_EQ(made.ranks, 2);
  const auto nodes = testing::read_written(trace_file(made.prefix, 0));
  const auto& send = testing::node_named(nodes, "operation 1");
  const auto& calc = testing::node_named(nodes, "operation 0");
  EXPECT_EQ(calc.micros, 1);
  EXPECT_EQ(send.destination, 1);
  EXPECT_EQ(send.size, 4096);
  EXPECT_EQ(send.tag, 3);
  EXPECT_THAT(send.after, ElementsAre(calc.id));
  // It may begin with the send, which begins behind the first; 0.5 us are left of that, so 1.1 us here.
  EXPECT_THAT(testing::node_named(nodes, "operation 2").after, UnorderedElementsAre(calc.id));
  EXPECT_EQ(testing::node_named(nodes, "operation 2").micros, 1);
  EXPECT_EQ(testing::read_written(trace_file(made.prefix, 1)).front().source, 0);
}

TEST(GoalBinary, WrongSchedulesAreNamedByByte) {
  // Rank 0 begins behind 8 + 6 + 2 x 16 bytes, its operations 12 bytes later, at 58: types at 62, 101, 140.
  EXPECT_THAT(error_of(changed(62, 4)), HasSubstr("s.bin: byte 62: an operation of type 4"));
  EXPECT_THAT(error_of(changed(102, 2)), HasSubstr("byte 102: peer 2 of 2 ranks"));
  EXPECT_THAT(error_of(changed(102, 0)), HasSubstr("byte 102: rank 0 communicates with itself"));
  EXPECT_THAT(error_of(changed(8, 0)), HasSubstr("byte 8: 0 ranks"));
  EXPECT_THAT(error_of(changed(0, 2342 & 0xFF).replace(1, 1, 1, 2342 >> 8)), HasSubstr("--save-mem"));
  EXPECT_THAT(error_of(changed(49, 127)), HasSubstr("do not fit"));
  EXPECT_THAT(error_of(kTwoRanks.substr(0, 70)), HasSubstr("do not fit"));
  EXPECT_THAT(error_of(kTwoRanks.substr(0, kTwoRanks.size() - 1)), HasSubstr("do not fit"));
  EXPECT_THAT(error_of(BinarySchedule({{{1, 3, 0, 5, 0, 0, {}, {0}}}}).bytes()), HasSubstr("each other's begin"));
  EXPECT_THAT(error_of(BinarySchedule({{{0, 3, 0, 5, 0, 0, {7}, {}}}}).bytes()), HasSubstr("operation 7 of 1"));
  EXPECT_THAT(error_of(BinarySchedule({{{0, 2, UINT32_MAX, 5, 0, 0, {}, {}}}, {}}).bytes()), HasSubstr("any source"));
}

}  // namespace
}  // namespace rankwire
