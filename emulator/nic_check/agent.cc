#include "emulator/nic_check/agent.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <optional>

#include "base/error.h"
#include "emulator/nic_check/agent_texts.h"

namespace rankwire {
namespace {

constexpr std::chrono::milliseconds kAnswerLimit{10'000};
/// Characters of an answer that an error shows.
constexpr size_t kShown = 60;

/// A member of what `op` was answered by, in a form of its own: `read` throws where it is another. Throws Error(kRun)
/// naming the agent and the field.
template <class Read>
auto field_of(const std::string& address, const char* op, const AgentJson& json, const char* key, Read read) {
  const auto found = json.find(key);
  if (found == json.end()) fail_run("{}: the agent's answer to '{}' has no '{}'", address, op, key);
  try {
    return read(*found);
  } catch (const std::exception&) {
    std::string shown = found->dump(-1, ' ', false, AgentJson::error_handler_t::replace);
    if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
    fail_run("{}: the agent's answer to '{}' has {} as '{}'", address, op, shown, key);
  }
}

/// A number of 0 to `most`.
template <class T>
T number_of(const AgentJson& json, uint64_t most) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > most) fail_input("no number");
  return static_cast<T>(json.get<uint64_t>());
}

template <size_t N>
std::array<uint8_t, N> fixed_bytes(const AgentJson& json) {
  const std::vector<uint8_t> bytes = bytes_of(json);
  if (bytes.size() != N) fail_input("{} bytes", bytes.size());
  std::array<uint8_t, N> fixed;
  std::ranges::copy(bytes, fixed.begin());
  return fixed;
}

}  // namespace

AgentNic::AgentNic(const std::string& address, const std::string& token)
    : address_(address), socket_(LineSocket::connect(address)) {
  const auto protocol = field_of(address_, "hello", ask({{"op", "hello"}, {"token", token}}), "protocol",
                                 [](const AgentJson& json) { return number_of<uint32_t>(json, UINT32_MAX); });
  if (protocol != kAgentProtocol)
    fail_run("{}: the agent speaks protocol {}, not {}", address, protocol, kAgentProtocol);
  take_facts(ask({{"op", "describe"}}));
}

void AgentNic::take_facts(const AgentJson& facts) {
  const auto of = [&](const AgentJson& json, const char* key, auto read) {
    return field_of(address_, "describe", json, key, read);
  };
  const auto number = [](const AgentJson& json) { return number_of<uint32_t>(json, UINT32_MAX); };
  const auto large = [](const AgentJson& json) { return number_of<uint64_t>(json, UINT64_MAX); };
  facts_.name = of(facts, "name", [](const AgentJson& json) { return json.get<std::string>(); });
  facts_.mac = MacAddress{of(facts, "mac", fixed_bytes<6>)};
  facts_.ip = IpAddress(of(facts, "ip", fixed_bytes<16>));
  facts_.mtu = of(facts, "mtu", [](const AgentJson& json) {
    const auto mtu = number_of<uint32_t>(json, 4096);
    if (mtu < 256) fail_input("no path MTU");
    return mtu;
  });
  facts_.reads = of(facts, "reads", number);
  facts_.largest = of(facts, "largest", large);
  const AgentJson region = of(facts, "region", [](const AgentJson& json) {
    if (!json.is_object()) fail_input("no object");
    return json;
  });
  region_ = {of(region, "address", large), of(region, "bytes", number), of(region, "rkey", number)};
}

std::string AgentNic::answer_to(const std::string& request) {
  if (!lost_.empty()) fail_run("{}: the agent was lost before: {}", address_, lost_);
  try {
    socket_.write(request);
    const std::optional<std::string> answer = socket_.read(kAnswerLimit);
    if (answer) return *answer;
    lost_ = "it has closed the connection";
  } catch (const Error& error) {
    lost_ = error.what();
  }
  fail_run("{}: the agent is lost: {}", address_, lost_);
}

AgentJson AgentNic::ask(const AgentJson& request) {
  AgentJson json = AgentJson::parse(answer_to(request.dump()), nullptr, false);
  const std::string op = request.at("op");
  if (!json.is_object()) fail_run("{}: the agent's answer to '{}' is no JSON object", address_, op);
  const auto error = json.find("error");
  if (error == json.end()) return json;
  fail_run("{}: {}", address_, error->is_string() ? error->get<std::string>() : error->dump());
}

uint32_t AgentNic::make_queue_pair(uint32_t depth) {
  return field_of(address_, "make_queue_pair", ask({{"op", "make_queue_pair"}, {"depth", depth}}), "queue_pair",
                  [](const AgentJson& json) { return number_of<uint32_t>(json, 0xFFFFFF); });
}

void AgentNic::connect(uint32_t queue_pair, const QueuePairPath& path) {
  ask({{"op", "connect"}, {"queue_pair", queue_pair}, {"path", json_of(path)}});
}

void AgentNic::destroy(uint32_t queue_pair) {
  ask({{"op", "destroy"}, {"queue_pair", queue_pair}});
}

void AgentNic::post_receive(uint32_t queue_pair, uint64_t id, uint32_t offset, uint32_t bytes) {
  ask({{"op", "post_receive"}, {"queue_pair", queue_pair}, {"id", id}, {"offset", offset}, {"bytes", bytes}});
}

void AgentNic::post(uint32_t queue_pair, const NicWork& work) {
  ask({{"op", "post"},
       {"queue_pair", queue_pair},
       {"id", work.id},
       {"kind", static_cast<uint32_t>(work.kind)},
       {"offset", work.offset},
       {"bytes", work.bytes},
       {"remote_address", work.remote_address},
       {"remote_key", work.remote_key},
       {"immediate", work.immediate}});
}

std::vector<WorkCompletion> AgentNic::poll() {
  return field_of(address_, "poll", ask({{"op", "poll"}}), "completions", [](const AgentJson& list) {
    std::vector<WorkCompletion> completions;
    for (const AgentJson& c : list) {
      WorkCompletion& completion = completions.emplace_back();
      completion.id = number_of<uint64_t>(c.at(0), UINT64_MAX);
      completion.queue_pair = number_of<uint32_t>(c.at(1), UINT32_MAX);
      completion.bytes = number_of<uint32_t>(c.at(2), UINT32_MAX);
      completion.immediate = number_of<uint32_t>(c.at(3), UINT32_MAX);
      completion.status = static_cast<WorkStatus>(number_of<uint32_t>(c.at(4), kWorkStatuses - 1));
      completion.has_immediate = c.at(5);
    }
    return completions;
  });
}

void AgentNic::write_memory(uint32_t offset, std::span<const uint8_t> bytes) {
  ask({{"op", "write_memory"}, {"offset", offset}, {"data", hex_of(bytes)}});
}

std::vector<uint8_t> AgentNic::read_memory(uint32_t offset, uint32_t bytes) {
  return field_of(address_, "read_memory", ask({{"op", "read_memory"}, {"offset", offset}, {"bytes", bytes}}), "data",
                  [bytes](const AgentJson& json) {
                    std::vector<uint8_t> data = bytes_of(json);
                    if (data.size() != bytes) fail_input("{} bytes", data.size());
                    return data;
                  });
}

std::vector<uint8_t> AgentNic::read_guard() {
  return field_of(address_, "read_guard", ask({{"op", "read_guard"}}), "data",
                  [](const AgentJson& json) { return bytes_of(json); });
}

std::string AgentNic::vanished() {
  // A lost agent answers nothing, which each request says.
  if (!lost_.empty()) return {};
  try {
    ask({{"op", "describe"}});
  } catch (const Error& error) {
    return lost_.empty() ? error.what() : std::string();
  }
  return {};
}

std::vector<VerbsCounter> AgentNic::counters() {
  return field_of(address_, "counters", ask({{"op", "counters"}}), "counters", [](const AgentJson& json) {
    std::vector<VerbsCounter> counters;
    for (const auto& [name, value] : json.items()) counters.push_back({name, number_of<uint64_t>(value, UINT64_MAX)});
    return counters;
  });
}

}  // namespace rankwire
