#include "emulator/nic_check/agent.h"

#include <algorithm>

#include "base/error.h"
#include "emulator/nic_check/agent_texts.h"

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kAnswerLimit{10'000};

template <size_t N>
std::array<uint8_t, N> fixed_bytes(const AgentJson& json) {
  const std::vector<uint8_t> bytes = bytes_of(json);
  if (bytes.size() != N) fail_run("the agent's answer has {} bytes, expected {}", bytes.size(), N);
  std::array<uint8_t, N> fixed;
  std::ranges::copy(bytes, fixed.begin());
  return fixed;
}

}  // namespace

AgentNic::AgentNic(const std::string& address, const std::string& token)
    : address_(address), socket_(LineSocket::connect(address)) {
  const AgentJson hello = AgentJson::parse(ask(AgentJson{{"op", "hello"}, {"token", token}}.dump()));
  if (hello.value("protocol", 0) != kAgentProtocol)
    fail_run("{}: the agent speaks protocol {}, not {}", address, hello.value("protocol", 0), kAgentProtocol);
  const AgentJson facts = AgentJson::parse(ask(R"({"op":"describe"})"));
  facts_ = {facts.at("name"),
            MacAddress{fixed_bytes<6>(facts.at("mac"))},
            IpAddress(fixed_bytes<16>(facts.at("ip"))),
            facts.at("mtu"),
            facts.at("reads"),
            facts.at("largest")};
  region_ = {facts.at("region").at("address"), facts.at("region").at("bytes"), facts.at("region").at("rkey")};
}

std::string AgentNic::ask(const std::string& request) {
  socket_.write(request);
  const std::optional<std::string> answer = socket_.read(kAnswerLimit);
  if (!answer) fail_run("{}: the agent has closed the connection", address_);
  const AgentJson json = AgentJson::parse(*answer, nullptr, false);
  if (!json.is_object()) fail_run("{}: the agent's answer is no JSON object", address_);
  if (json.contains("error")) fail_run("{}: {}", address_, json.at("error").get<std::string>());
  return *answer;
}

uint32_t AgentNic::make_queue_pair(uint32_t depth) {
  return AgentJson::parse(ask(AgentJson{{"op", "make_queue_pair"}, {"depth", depth}}.dump())).at("queue_pair");
}

void AgentNic::connect(uint32_t queue_pair, const QueuePairPath& path) {
  ask(AgentJson{{"op", "connect"}, {"queue_pair", queue_pair}, {"path", json_of(path)}}.dump());
}

void AgentNic::destroy(uint32_t queue_pair) {
  ask(AgentJson{{"op", "destroy"}, {"queue_pair", queue_pair}}.dump());
}

void AgentNic::post_receive(uint32_t queue_pair, uint64_t id, uint32_t offset, uint32_t bytes) {
  ask(AgentJson{{"op", "post_receive"}, {"queue_pair", queue_pair}, {"id", id}, {"offset", offset}, {"bytes", bytes}}
          .dump());
}

void AgentNic::post(uint32_t queue_pair, const NicWork& work) {
  ask(AgentJson{{"op", "post"},
                {"queue_pair", queue_pair},
                {"id", work.id},
                {"kind", static_cast<uint32_t>(work.kind)},
                {"offset", work.offset},
                {"bytes", work.bytes},
                {"remote_address", work.remote_address},
                {"remote_key", work.remote_key},
                {"immediate", work.immediate}}
          .dump());
}

std::vector<WorkCompletion> AgentNic::poll() {
  std::vector<WorkCompletion> completions;
  const AgentJson answer = AgentJson::parse(ask(R"({"op":"poll"})"));
  for (const AgentJson& c : answer.at("completions")) {
    WorkCompletion& completion = completions.emplace_back();
    completion.id = c.at(0);
    completion.queue_pair = c.at(1);
    completion.bytes = c.at(2);
    completion.immediate = c.at(3);
    const uint32_t status = c.at(4);
    if (status >= kWorkStatuses) fail_run("{}: {} is no status of a completion", address_, status);
    completion.status = static_cast<WorkStatus>(status);
    completion.has_immediate = c.at(5);
  }
  return completions;
}

void AgentNic::write_memory(uint32_t offset, std::span<const uint8_t> bytes) {
  ask(AgentJson{{"op", "write_memory"}, {"offset", offset}, {"data", hex_of(bytes)}}.dump());
}

std::vector<uint8_t> AgentNic::read_memory(uint32_t offset, uint32_t bytes) {
  return bytes_of(
      AgentJson::parse(ask(AgentJson{{"op", "read_memory"}, {"offset", offset}, {"bytes", bytes}}.dump())).at("data"));
}

std::vector<uint8_t> AgentNic::read_guard() {
  return bytes_of(AgentJson::parse(ask(R"({"op":"read_guard"})")).at("data"));
}

std::vector<VerbsCounter> AgentNic::counters() {
  std::vector<VerbsCounter> counters;
  const AgentJson answer = AgentJson::parse(ask(R"({"op":"counters"})"));
  for (const auto& [name, value] : answer.at("counters").items()) counters.push_back({name, value});
  return counters;
}

}  // namespace rankwire
