#include "emulator/workload/request_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "proto/trace_node.h"

namespace rankwire {
namespace {

class RequestMarks : public ::testing::Test {
 protected:
  void set(std::string_view name, std::string_view list) {
    TraceAttribute& attribute = node_.attributes.emplace_back();
    attribute.name = name;
    attribute.set_text(list);
  }
  std::vector<RequestMark> read() {
    std::vector<RequestMark> marks;
    read_request_marks(node_, RankId(3), 7, marks);
    return marks;
  }
  void expect_wrong(const std::string& text) {
    try {
      read();
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(text));
    }
  }

  TraceNode node_{.id = 12, .name = "batch4"};
};

TEST_F(RequestMarks, AreThoseOfTheLists) {
  set("comm_size", "8");
  set("request_arrival", "[4, 5]");
  set("request_input_tokens", "[100, 20]");
  set("request_held_batches", "[0, 3]");
  set("request_token", "[1]");
  const std::vector<RequestMark> marks = read();
  ASSERT_EQ(marks.size(), 3u);
  for (const RequestMark& mark : marks) {
    EXPECT_EQ(mark.rank, RankId(3));
    EXPECT_EQ(mark.place, 7u);
  }
  EXPECT_TRUE(marks[0].arrives && marks[1].arrives && !marks[2].arrives);
  EXPECT_EQ(marks[1].request, 5);
  EXPECT_EQ(marks[1].input_tokens, 20);
  EXPECT_EQ(marks[1].held_batches, 3);
  EXPECT_EQ(marks[2].request, 1);
}

TEST_F(RequestMarks, MayLackTheTokensOfTheInput) {
  set("request_arrival", "[4]");
  ASSERT_EQ(read().size(), 1u);
  EXPECT_EQ(read()[0].input_tokens, 0);
  EXPECT_FALSE(read()[0].held_batches);
}

TEST_F(RequestMarks, OfOtherNodesAreNone) {
  set("comm_size", "8");
  EXPECT_TRUE(read().empty());
}

TEST_F(RequestMarks, MustBeLists) {
  set("request_token", "seven");
  expect_wrong("node 12 \"batch4\": attribute request_token is no list of integers from 0 on");
}

TEST_F(RequestMarks, TellOfARequestOnce) {
  set("request_arrival", "[4, 1, 4]");
  expect_wrong("node 12 \"batch4\": request_arrival has request 4 twice");
}

TEST_F(RequestMarks, MustGoTogether) {
  set("request_arrival", "[4]");
  set("request_input_tokens", "[1, 2]");
  expect_wrong("request_input_tokens has 2 numbers and request_arrival 1");
}

}  // namespace
}  // namespace rankwire
