#include "tests/interop/peer_options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "base/error.h"

namespace rankwire::testing {
namespace {

template <class Value>
Value one_of(const std::string& text, const std::map<std::string, Value>& values) {
  const auto found = values.find(text);
  if (found == values.end()) fail_input("'{}' is unknown", text);
  return found->second;
}

uint32_t number(const std::string& text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail_input("'{}' is no number", text);
  return value;
}

IpAddress address(const std::string& text) {
  const std::optional<IpAddress> ip = parse_ip(text);
  if (!ip) fail_input("'{}' is no IP address", text);
  return *ip;
}

MacAddress mac(const std::string& text) {
  unsigned bytes[6];
  if (std::sscanf(text.c_str(), "%2x:%2x:%2x:%2x:%2x:%2x", &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4],
                  &bytes[5]) != 6)
    fail_input("'{}' is no MAC address", text);
  MacAddress result;
  for (size_t i = 0; i < 6; ++i) result.bytes[i] = static_cast<uint8_t>(bytes[i]);
  return result;
}

std::vector<int64_t> numbers(const std::string& text) {
  std::vector<int64_t> values;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) values.push_back(number(word));
  return values;
}

void set_profile(RoceOptions& roce, const std::string& name) {
  const std::optional<NicProfile> profile = find_nic_profile(name);
  if (!profile) fail_input("'{}' is no profile", name);
  const uint32_t timeout = roce.profile.timeout_exponent;
  roce.profile = *profile;
  roce.profile.timeout_exponent = timeout;
}

}  // namespace

PeerOptions read_peer_options(std::istream& words) {
  using Text = const std::string&;
  PeerOptions o;
  o.roce.payload = PayloadMode::kChecking;
  o.roce.unindexed = UnindexedMessages::kReported;
  o.roce.neighbours = NeighbourMode::kResolve;
  const std::map<std::string, std::function<void(Text)>> keys = {
      {"role",
       [&](Text t) {
         o.role = one_of<Role>(t, {{"target", Role::kTarget}, {"initiator", Role::kInitiator}});
       }},
      {"verb",
       [&](Text t) {
         o.roce.verb = one_of<DataVerb>(t, {{"write_imm", DataVerb::kWriteImm},
                                            {"write_then_imm", DataVerb::kWriteThenImm},
                                            {"send", DataVerb::kSend},
                                            {"send_imm", DataVerb::kSendImm},
                                            {"read", DataVerb::kRead},
                                            {"write", DataVerb::kWrite}});
       }},
      {"spread",
       [&](Text t) {
         o.roce.spread = one_of<Spread>(t, {{"split", Spread::kSplit}, {"deal", Spread::kDeal}});
       }},
      {"profile", [&](Text t) { set_profile(o.roce, t); }},
      {"queue_pairs", [&](Text t) { o.roce.queue_pairs = number(t); }},
      {"receives", [&](Text t) { o.roce.receive_queue = number(t); }},
      {"timeout", [&](Text t) { o.roce.profile.timeout_exponent = number(t); }},
      {"mtu", [&](Text t) { o.roce.mtu = number(t); }},
      {"mac", [&](Text t) { o.ours.mac = mac(t); }},
      {"ip", [&](Text t) { o.ours.ip = address(t); }},
      {"peer_ip", [&](Text t) { o.theirs.ip = address(t); }},
      {"prefix", [&](Text t) { o.ours.prefix_length = static_cast<uint8_t>(number(t)); }},
      {"vlan", [&](Text t) { o.ours.vlan = static_cast<uint16_t>(number(t)); }},
      {"priority", [&](Text t) { o.roce.markings.data.priority = static_cast<uint8_t>(number(t)); }},
      {"sizes", [&](Text t) { o.sizes = numbers(t); }},
      {"depth", [&](Text t) { o.depth = number(t); }},
      {"loss_ppm", [&](Text t) { o.loss_ppm = number(t); }},
      {"seed", [&](Text t) { o.seed = number(t); }},
  };
  for (std::string word; words >> word;) {
    const size_t equals = std::min(word.find('='), word.size() - 1);
    const auto key = keys.find(word.substr(0, equals));
    if (key == keys.end()) fail_input("'{}' is no option", word);
    key->second(word.substr(equals + 1));
  }
  return o;
}

}  // namespace rankwire::testing
