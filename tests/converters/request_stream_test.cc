// Arrivals and lengths of requests: their means, and what a file says.
#include "converters/request_stream.h"

#include <cmath>

#include "converters/request_file.h"
#include "tests/converters/generated.h"

namespace rankwire {
namespace {

using namespace rankwire::testing;  // NOLINT: the vocabulary of this file

struct GapStatistics {
  double mean = 0, cv = 0;  ///< mean in seconds
};

GapStatistics gaps_of(const std::vector<ServedRequest>& requests) {
  double sum = 0, squares = 0, before = 0;
  for (const ServedRequest& request : requests) {
    const double at = static_cast<double>(request.arrival.ps) / 1e12, gap = at - before;
    before = at, sum += gap, squares += gap * gap;
  }
  const double count = static_cast<double>(requests.size()), mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean) / mean};
}

RequestModel many(ArrivalProcess process, double cv) {
  return {.process = process, .rate = 100, .cv = cv, .requests = 20'000};
}

// The standard error of the mean of 20,000 gaps is cv / 141: 0.7 % of a Poisson process, whose cv is 1, and 2.1 % where
// it is 3.
TEST(RequestStream, GapsHaveTheMeanAndVariationAskedFor) {
  const GapStatistics poisson = gaps_of(make_requests(many(ArrivalProcess::kPoisson, 1)));
  EXPECT_NEAR(poisson.mean, 0.01, 0.0003);
  EXPECT_NEAR(poisson.cv, 1, 0.04);
  const GapStatistics bursts = gaps_of(make_requests(many(ArrivalProcess::kGamma, 3)));
  EXPECT_NEAR(bursts.mean, 0.01, 0.0008);
  EXPECT_NEAR(bursts.cv, 3, 0.3);
  const GapStatistics even = gaps_of(make_requests(many(ArrivalProcess::kGamma, 0.5)));
  EXPECT_NEAR(even.mean, 0.01, 0.0002);
  EXPECT_NEAR(even.cv, 0.5, 0.02);
}

TEST(RequestStream, TokensHaveTheDistributionAskedFor) {
  const auto mean_of = [](const TokenCounts& counts) {
    RequestModel model = many(ArrivalProcess::kPoisson, 1);
    model.input = counts;
    double sum = 0;
    for (const ServedRequest& request : make_requests(model)) {
      EXPECT_GE(request.input, counts.least);
      EXPECT_LE(request.input, counts.most);
      sum += static_cast<double>(request.input);
    }
    return sum / 20'000;
  };
  EXPECT_EQ(mean_of({.mean = 300}), 300);
  EXPECT_NEAR(mean_of({.shape = TokenCounts::Shape::kUniform, .least = 10, .most = 30}), 20, 0.2);
  EXPECT_NEAR(mean_of({.shape = TokenCounts::Shape::kExponential, .mean = 1000}), 1000, 30);
  EXPECT_NEAR(mean_of({.shape = TokenCounts::Shape::kLognormal, .mean = 1000, .cv = 0.5}), 1000, 15);
}

TEST(RequestStream, IsThatOfItsSeed) {
  const RequestModel model{.requests = 100, .input = {.shape = TokenCounts::Shape::kExponential}, .hit_ppm = 500'000};
  RequestModel other = model;
  other.seed = 2;
  EXPECT_EQ(make_requests(model), make_requests(model));
  EXPECT_NE(make_requests(model), make_requests(other));
}

TEST(RequestStream, EndsWithItsDuration) {
  RequestModel model = many(ArrivalProcess::kPoisson, 1);
  model.duration = seconds(2);  // 200 requests, give or take 14
  const auto requests = make_requests(model);
  EXPECT_NEAR(static_cast<double>(requests.size()), 200, 60);
  EXPECT_LE(requests.back().arrival, seconds(2));
}

// 40 % of 101 tokens, rounded down; the last token is always computed.
TEST(RequestStream, HitsHaveTheirPrefixCached) {
  RequestModel model{.requests = 1000, .input = {.mean = 101}, .hit_ppm = 250'000, .prefix_ppm = 400'000};
  int hits = 0;
  for (const ServedRequest& request : make_requests(model)) {
    if (request.cached == 0) continue;
    EXPECT_EQ(request.cached, 40);
    ++hits;
  }
  EXPECT_NEAR(hits, 250, 60);
  model.prefix_ppm = 1'000'000;
  model.hit_ppm = 1'000'000;
  EXPECT_EQ(make_requests(model).front().cached, 100);
}

TEST(RequestStream, HitsWhatIsNearFirst) {
  const RequestModel model{.requests = 1000, .hit_ppm = 500'000, .local_ppm = 500'000};
  int near = 0, far = 0;
  for (const ServedRequest& request : make_requests(model)) {
    if (request.cached > 0) ++(request.near ? near : far);
  }
  EXPECT_NEAR(near, 500, 60);
  EXPECT_NEAR(far, 250, 60);
}

TEST(RequestStream, RefusesWhatNeverComes) {
  const auto refuse = [](const char* text, auto change) {
    RequestModel model;
    change(model);
    expect_refused(text, [&] { make_requests(model); });
  };
  refuse("a rate of 0 requests a second", [](RequestModel& m) { m.rate = 0; });
  refuse("0 requests, must be 1 to 50000", [](RequestModel& m) { m.requests = 0; });
  refuse("output tokens of at least 0", [](RequestModel& m) { m.output.least = 0; });
  refuse("input tokens have a mean of 0", [](RequestModel& m) { m.input.mean = 0; });
  refuse("inference.arrivals.duration: no request arrives", [](RequestModel& m) { m.duration = Duration(1); });
}

class RequestFile : public ::testing::Test {
 protected:
  std::vector<ServedRequest> read(const std::string& text, size_t most = 100) {
    return read_requests(write_text(folder_ / "requests.csv", text), most);
  }
  void refuse(const std::string& text, const std::string& why) {
    expect_refused(why, [&] { read(text); });
  }

  TemporaryFolder folder_;
};

TEST_F(RequestFile, ReadsTheFormsOfAzuresTraces) {
  const std::vector<ServedRequest> expected = {{.arrival = Duration(), .input = 4808, .output = 10},
                                               {.arrival = microseconds(270'550), .input = 3180, .output = 8},
                                               {.arrival = seconds(74), .input = 110, .output = 27}};
  EXPECT_EQ(read("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,4808,10\r\n"
                 "2023-11-16 18:15:46.9511400,3180,8\r\n2023-11-16 18:17:00.6805900,110,27\r\n"),
            expected);
  EXPECT_EQ(read("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 23:59:59.680590+00:00,4808,10\n"
                 "2024-05-10 23:59:59.951140+00:00,3180,8\n2024-05-11 00:01:13.68059+00:00,110,27\n"),
            expected);
  EXPECT_EQ(read("1.5,4808,10\n1.77055,3180,8\n75.5,110,27\n"), expected);
  EXPECT_EQ(read("1.5,4808,10\n1.77055,3180,8\nnonsense", 2).size(), 2u);
}

TEST_F(RequestFile, BlanksAndAByteOrderMarkCountForNothing) {
  const std::vector<ServedRequest> expected = {{.arrival = Duration(), .input = 4808, .output = 10},
                                               {.arrival = seconds(1), .input = 3180, .output = 8}};
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "1.5,4808,10\n2.5,3180,8\n"),
            expected);
  EXPECT_EQ(read("\xEF\xBB\xBFtime, input tokens, output tokens\r\n 1.5, 4808,\t10 \r\n  \r\n2.5 ,3180 , 8\r\n"),
            expected);
}

// What has a number in it is a request that cannot be read, and not to be left out.
TEST_F(RequestFile, HeadingsHaveNoNumbers) {
  refuse("1.5s,4808,10\n2.5,3180,8\n", "requests.csv:1: '1.5s' is neither seconds");
  refuse("-1,4808,10\n", "requests.csv:1: '-1' is neither seconds");
  refuse("time,input,10\n0,1,2\n", "requests.csv:1: 'time' is neither seconds");
  refuse("2023-11-16 18:15:46,input,output\n", "requests.csv:1: input tokens are 'input'");
}

TEST_F(RequestFile, NamesTheLineThatIsWrong) {
  refuse("0,1,2\n1,2\n", "requests.csv:2: '1,2' is not the time of arrival, input tokens and output tokens");
  refuse("0,1,2,3\n", "requests.csv:1: '0,1,2,3' is not");
  refuse("time,in,out\n0,1,2\nyesterday,1,2\n", "requests.csv:3: 'yesterday' is neither seconds");
  refuse("2023-02-30 00:00:00,1,2\n", "requests.csv:1: '2023-02-30 00:00:00' is neither");
  refuse("0,1,2\n1,0,2\n", "requests.csv:2: input tokens are '0'");
  refuse("0,1,2\n1,1,-3\n", "requests.csv:2: output tokens are '-3'");
  refuse("5,1,2\n4,1,2\n", "requests.csv:2: arrives before the request of the line before it");
  // A date is some 1.7 x 10^9 s behind 1970, which is more than a Duration has room for.
  refuse("2023-11-16 18:15:46,1,2\n5,1,2\n",
         "requests.csv:2: '5' is a number of seconds, but the first request has a date");
  refuse("5,1,2\n2023-11-16 18:15:46,1,2\n", "requests.csv:2: '2023-11-16 18:15:46' is a date, but the first request");
  refuse("2023-11-16 18:15:46,1,2\n1923-11-16 18:15:46,1,2\n", "requests.csv:2: arrives before the request");
  refuse("1700000000,1,2\n5,1,2\n", "requests.csv:2: arrives before the request");
  refuse("0,1,2\n" + std::string(5000, '9') + ",1,2\n", "requests.csv:2: '" + std::string(80, '9') + "...' is neither");
  refuse(std::string("\xFF\xFE\x30\0,\0\n", 7), "requests.csv:1: '");
  refuse("time,in,out\n", "requests.csv: has no requests");
  expect_refused("/absent.csv: cannot be read: No such file or directory", [] { read_requests("/absent.csv", 1); });
}

}  // namespace
}  // namespace rankwire
