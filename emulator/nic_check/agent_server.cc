// The agent's end of its protocol.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "emulator/nic_check/agent.h"
#include "emulator/nic_check/agent_texts.h"

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kLook{200}, kPatience{60'000};
constexpr size_t kMostQueuePairs = 131072;
constexpr uint32_t kMostDepth = 4096;

/// One client's queue pairs and what it asks.
class AgentSession {
 public:
  explicit AgentSession(NicUnderTest& nic) : nic_(nic) {}
  ~AgentSession() {
    for (const uint32_t queue_pair : queue_pairs_) nic_.destroy(queue_pair);
  }
  AgentSession(const AgentSession&) = delete;
  AgentSession& operator=(const AgentSession&) = delete;

  AgentJson answer(const AgentJson& request) {
    const std::string op = request.at("op");
    if (op == "describe") return describe();
    if (op == "make_queue_pair") return make(request);
    if (op == "connect") return nic_.connect(own(request), path_of(request.at("path"))), AgentJson::object();
    if (op == "destroy") return destroy(own(request));
    if (op == "post_receive") return post_receive(request);
    if (op == "post") return post(request);
    if (op == "poll") return poll();
    if (op == "write_memory") return write(request);
    if (op == "read_memory") return read(request);
    if (op == "read_guard") return {{"data", hex_of(nic_.read_guard())}};
    if (op == "counters") return counters();
    fail_input("there is no '{}'", op);
  }

 private:
  AgentJson describe() {
    if (const std::string vanished = nic_.vanished(); !vanished.empty()) fail_run("{}", vanished);
    const NicFacts& facts = nic_.facts();
    const NicRegion& region = nic_.region();
    return {{"name", facts.name},
            {"mac", hex_of(facts.mac.bytes)},
            {"ip", hex_of(facts.ip.bytes)},
            {"mtu", facts.mtu},
            {"reads", facts.reads},
            {"largest", facts.largest},
            {"region", {{"address", region.address}, {"bytes", region.bytes}, {"rkey", region.rkey}}}};
  }

  uint32_t own(const AgentJson& request) const {
    const uint32_t number = request.at("queue_pair");
    if (!queue_pairs_.contains(number)) fail_input("there is no queue pair {}", number);
    return number;
  }

  /// Throws unless all of it is within the region.
  void check_range(uint32_t offset, uint32_t bytes) const {
    if (offset > nic_.region().bytes || bytes > nic_.region().bytes - offset)
      fail_input("{} bytes at {} are not within the region", bytes, offset);
  }

  AgentJson make(const AgentJson& request) {
    const uint32_t depth = request.at("depth");
    if (queue_pairs_.size() == kMostQueuePairs) fail_input("no more than {} queue pairs", kMostQueuePairs);
    if (depth == 0 || depth > kMostDepth) fail_input("depth must be 1 .. {}", kMostDepth);
    const uint32_t number = nic_.make_queue_pair(depth);
    queue_pairs_.insert(number);
    return {{"queue_pair", number}};
  }

  AgentJson destroy(uint32_t number) {
    nic_.destroy(number);
    queue_pairs_.erase(number);
    return AgentJson::object();
  }

  AgentJson post_receive(const AgentJson& request) {
    const uint32_t offset = request.at("offset"), bytes = request.at("bytes");
    check_range(offset, bytes);
    nic_.post_receive(own(request), request.at("id"), offset, bytes);
    return AgentJson::object();
  }

  AgentJson post(const AgentJson& request) {
    const uint32_t kind = request.at("kind");
    if (kind > static_cast<uint32_t>(WorkKind::kRead)) fail_input("kind must be 0 .. 4");
    NicWork work;
    work.id = request.at("id");
    work.kind = static_cast<WorkKind>(kind);
    work.offset = request.at("offset");
    work.bytes = request.at("bytes");
    work.remote_address = request.at("remote_address");
    work.remote_key = request.at("remote_key");
    work.immediate = request.at("immediate");
    check_range(work.offset, work.bytes);
    nic_.post(own(request), work);
    return AgentJson::object();
  }

  AgentJson poll() {
    AgentJson list = AgentJson::array();
    for (const WorkCompletion& c : nic_.poll())
      list.push_back({c.id, c.queue_pair, c.bytes, c.immediate, static_cast<uint32_t>(c.status), c.has_immediate});
    return {{"completions", std::move(list)}};
  }

  AgentJson write(const AgentJson& request) {
    const std::vector<uint8_t> data = bytes_of(request.at("data"));
    check_range(request.at("offset"), static_cast<uint32_t>(data.size()));
    nic_.write_memory(request.at("offset"), data);
    return AgentJson::object();
  }

  AgentJson read(const AgentJson& request) {
    const uint32_t offset = request.at("offset"), bytes = request.at("bytes");
    check_range(offset, bytes);
    if (2 * size_t{bytes} > LineSocket::kLongest - 4096) fail_input("no more than 1 MiB at a time");
    return {{"data", hex_of(nic_.read_memory(offset, bytes))}};
  }

  AgentJson counters() {
    AgentJson all = AgentJson::object();
    for (const VerbsCounter& counter : nic_.counters()) all[counter.name] = counter.value;
    return {{"counters", std::move(all)}};
  }

  NicUnderTest& nic_;
  std::set<uint32_t> queue_pairs_;
};

/// Takes the same time wherever two texts of one length differ.
bool is_same(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

bool knows_token(LineSocket& client, const std::string& token) {
  const std::optional<std::string> line = client.read(kPatience);
  if (!line) return false;
  const AgentJson hello = AgentJson::parse(*line, nullptr, false);
  if (hello.is_object() && hello.value("op", "") == "hello" && is_same(hello.value("token", ""), token)) {
    client.write(AgentJson{{"protocol", kAgentProtocol}}.dump());
    return true;
  }
  client.write(AgentJson{{"error", "the first line must be a hello with the agent's token"}}.dump());
  return false;
}

void serve_client(NicUnderTest& nic, LineSocket& client, const std::string& token) {
  if (!knows_token(client, token)) return;
  AgentSession session(nic);
  while (const std::optional<std::string> line = client.read(kPatience)) {
    AgentJson answer;
    try {
      answer = session.answer(AgentJson::parse(*line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    client.write(answer.dump(-1, ' ', false, AgentJson::error_handler_t::replace));
  }
}

}  // namespace

void serve_agent(NicUnderTest& nic, LineListener& listener, const std::string& token,
                 const std::atomic<bool>& interrupted) {
  if (token.empty()) fail_input("the agent needs a token that is not empty");
  while (!interrupted) {
    std::optional<LineSocket> client = listener.accept(kLook);
    if (!client) continue;
    try {
      serve_client(nic, *client, token);
    } catch (const Error&) {
      // A client that falls silent, or talks without end, is let go; the next may come.
    }
  }
}

}  // namespace rankwire
