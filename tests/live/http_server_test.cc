// A server, and clients that behave and do not.
#include "emulator/live/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace rankwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A connection that sends what it is told and no more.
class RawClient {
 public:
  explicit RawClient(uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  }
  ~RawClient() { ::close(descriptor_); }
  RawClient(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void send(const std::string& text) const {
    ASSERT_EQ(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
  }
  /// All that comes until the other end closes.
  std::string receive() const {
    std::string all;
    char part[4096];
    for (ssize_t n = 0; (n = ::recv(descriptor_, part, sizeof part, 0)) > 0;) all.append(part, static_cast<size_t>(n));
    return all;
  }

 private:
  int descriptor_;
  bool connected_ = false;
};

class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    server_.get("/a.b", [](const auto&, httplib::Response& response) { response.set_content("exact", "text/plain"); });
    server_.get_below("/below/", [](const httplib::Request& request, httplib::Response& response) {
      response.set_content(request.path, "text/plain");
    });
    server_.post("/stop", [](const auto&, httplib::Response& response) { response.status = 204; });
    server_.start();
  }

  uint16_t port() const { return server_.address().port; }
  /// A whole answer to a head without its last line.
  std::string ask(const std::string& head) const {
    const RawClient client(port());
    client.send(head + "\r\n");
    return client.receive();
  }
  std::string ask(const std::string& line, const std::string& host) const {
    return ask(line + " HTTP/1.1\r\nHost: " + host + "\r\n");
  }

  HttpServer server_{ListenAddress{}};
};

TEST_F(HttpServerTest, MatchesPathsAsTheyAre) {
  EXPECT_THAT(ask("GET /a.b", "127.0.0.1"), HasSubstr("exact"));
  EXPECT_THAT(ask("GET /aXb", "127.0.0.1"), HasSubstr(" 404 "));
  EXPECT_THAT(ask("GET /a.b/more", "127.0.0.1"), HasSubstr(" 404 "));
  EXPECT_THAT(ask("GET /below/x/y", "127.0.0.1"), HasSubstr("/below/x/y"));
}

TEST_F(HttpServerTest, AnswersToLoopbackNamesAlone) {
  for (const char* host : {"localhost", "127.0.0.1", "localhost:80", "127.0.0.1:8080", "[::1]", "[::1]:99"})
    EXPECT_THAT(ask("GET /a.b", host), HasSubstr(" 200 ")) << host;
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "evil:127.0.0.1"})
    EXPECT_THAT(ask("GET /a.b", host), HasSubstr(" 421 ")) << host;
  EXPECT_THAT(ask("GET /a.b HTTP/1.1\r\n"), HasSubstr(" 421 ")) << "no Host at all";
}

TEST(HttpServer, AnswersToTheLoopbackAddressThatItIsBoundTo) {
  HttpServer server(ListenAddress{"127.0.0.2", 0});
  server.get("/", [](const auto&, httplib::Response& response) { response.set_content("here", "text/plain"); });
  server.start();
  const auto answer = httplib::Client(server.origin()).Get("/");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST_F(HttpServerTest, RefusesOtherPagesAndMethods) {
  const auto from = [&](const std::string& origin) {
    return ask("POST /stop HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 0\r\nOrigin: " + origin + "\r\n");
  };
  EXPECT_THAT(from("http://localhost:1"), HasSubstr(" 204 "));
  EXPECT_THAT(from("http://localhost:2"), HasSubstr(" 403 "));
  EXPECT_THAT(from("https://localhost:1"), HasSubstr(" 403 "));
  EXPECT_THAT(from("null"), HasSubstr(" 403 "));
  EXPECT_THAT(ask("DELETE /a.b", "localhost"), HasSubstr(" 405 "));
}

TEST_F(HttpServerTest, BoundsWhatIsSentToIt) {
  EXPECT_THAT(ask("POST /stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n"), HasSubstr(" 413 "));
  std::string endless = "GET /a.b HTTP/1.1\r\nHost: localhost\r\n";
  while (endless.size() < 40'000) endless += "X-More: of the same, again and again\r\n";
  EXPECT_THAT(ask(endless), Not(HasSubstr(" 200 ")));
}

TEST_F(HttpServerTest, TakesAPostWithoutABody) {
  EXPECT_THAT(ask("POST /stop", "localhost"), HasSubstr(" 204 "));
  EXPECT_THAT(ask("POST /stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"), HasSubstr(" 204 "));
}

TEST_F(HttpServerTest, EndsWhateverItsClientsDo) {
  std::vector<std::unique_ptr<RawClient>> silent;
  // Some are served, 8 wait for that, one waits to wait, and one has not been accepted.
  for (int i = 0; i < HttpLimits().most_connections + 10; ++i) {
    ASSERT_TRUE(silent.emplace_back(std::make_unique<RawClient>(port()))->connected());
    silent.back()->send("GET /a.b HTTP/1.1\r\nHost: local");
  }
  server_.stop();  // returns
  EXPECT_EQ(silent.front()->receive().find(" 200 "), std::string::npos);
}

TEST(HttpServer, RefusesMoreConnectionsThanItServes) {
  constexpr HttpLimits kLimits{.request_time = std::chrono::seconds(600),
                               .most_connections = 3,
                               .refuses_more = true,
                               .start_time = std::chrono::seconds(1)};
  HttpServer server(ListenAddress{}, kLimits);
  server.get("/", [](const auto&, httplib::Response& response) { response.set_content("here", "text/plain"); });
  server.on_error([](const auto&, httplib::Response& response) { response.set_content("as errors look", "a/b"); });
  server.start();
  const auto ask = [&] {
    const RawClient client(server.address().port);
    client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return client.receive();
  };
  std::vector<std::unique_ptr<RawClient>> silent;
  std::string answer;
  // Threads may come to the one that asks before they come to a silent one.
  for (int i = 0; i < 100 && answer.find(" 503 ") == std::string::npos; ++i) {
    for (int j = 0; j < 3; ++j) {
      silent.push_back(std::make_unique<RawClient>(server.address().port));
      silent.back()->send("GET / HTTP/1.1\r\nHost: local");
    }
    answer = ask();
  }
  EXPECT_THAT(answer,
              AllOf(HasSubstr(" 503 "), HasSubstr("Content-Type: a/b\r\n"), HasSubstr("\r\n\r\nas errors look")));
  // Those that say no more are dropped.
  for (const auto& client : silent) EXPECT_THAT(client->receive(), Not(HasSubstr(" 200 ")));
  EXPECT_THAT(ask(), HasSubstr("here"));
}

TEST(HttpServer, WaitsLongerForARequestThatComes) {
  constexpr HttpLimits kLimits{
      .request_time = std::chrono::seconds(600), .most_body = 8 << 20, .start_time = std::chrono::seconds(1)};
  HttpServer server(ListenAddress{}, kLimits);
  server.post("/", [](const auto&, httplib::Response& response) { response.status = 204; });
  server.start();
  const auto post = [&](size_t at_once) {
    auto client = std::make_unique<RawClient>(server.address().port);
    client->send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4194304\r\n\r\n" + std::string(at_once, ' '));
    return client;
  };
  const auto fast = post((4 << 20) - 1), slow = post(1);
  // One has a second and not much more; of the other so much has come that it has 64.
  EXPECT_THAT(slow->receive(), Not(HasSubstr(" 204 ")));
  fast->send(" ");
  EXPECT_THAT(fast->receive(), HasSubstr(" 204 "));
}

TEST_F(HttpServerTest, IsWithoutAPortThatIsTaken) {
  try {
    const HttpServer second(ListenAddress{"127.0.0.1", port()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInput);
    EXPECT_THAT(error.what(), HasSubstr("127.0.0.1:" + std::to_string(port())));
    EXPECT_THAT(error.what(), HasSubstr("another program"));
  }
}

TEST(ParseListen, ReadsAddressesWithPorts) {
  const auto text = [](const char* given) {
    const ListenAddress where = parse_listen(given, "--live");
    return where.host + " " + std::to_string(where.port);
  };
  EXPECT_EQ(text("127.0.0.1:0"), "127.0.0.1 0");
  EXPECT_EQ(text("localhost:81"), "127.0.0.1 81");
  EXPECT_EQ(text("0.0.0.0:65535"), "0.0.0.0 65535");
  EXPECT_EQ(text("[::1]:8080"), "::1 8080");
  EXPECT_EQ(text("8080"), "127.0.0.1 8080");
  for (const char* wrong : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:1x", "host:80", "1.2.3:4"})
    EXPECT_THROW(parse_listen(wrong, "--live"), Error) << wrong;
  EXPECT_TRUE(parse_listen("127.0.0.2:1", "").is_loopback());
  EXPECT_TRUE(parse_listen("[::1]:1", "").is_loopback());
  EXPECT_FALSE(parse_listen("0.0.0.0:1", "").is_loopback());
}

TEST(Secrets, AreRandomAndComparedInWhole) {
  const std::string token = random_token();
  EXPECT_EQ(token.size(), 32u) << "128 bits, four a digit";
  EXPECT_NE(token, random_token());
  EXPECT_TRUE(equal_secrets(token, token));
  EXPECT_FALSE(equal_secrets(token, token.substr(0, 31)));
  EXPECT_FALSE(equal_secrets(token, ""));
  EXPECT_FALSE(equal_secrets("aa", "ab"));
}

}  // namespace
}  // namespace rankwire
