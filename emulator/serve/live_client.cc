#include "emulator/serve/live_client.h"

#include <httplib.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <string_view>

namespace rankwire {

std::optional<LiveAddress> live_address(const std::filesystem::path& log) {
  constexpr std::string_view kBefore = "live page: ", kHost = "http://127.0.0.1:", kToken = "/?token=";
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = line;
    const size_t token = text.find(kToken);
    if (!text.starts_with(kBefore) || file.eof() || token == std::string_view::npos) continue;
    const std::string_view url = text.substr(kBefore.size());
    if (!url.starts_with(kHost)) continue;
    LiveAddress address{std::string(url), 0, std::string(text.substr(token + kToken.size()))};
    std::from_chars(url.data() + kHost.size(), url.data() + url.size(), address.port);
    return address;
  }
  return std::nullopt;
}

std::optional<nlohmann::json> live_state(const LiveAddress& address) {
  constexpr size_t kMost = 4 << 20;
  constexpr std::string_view kData = "data: ", kEnd = "\n\n";
  httplib::Client client("127.0.0.1", address.port);
  client.set_connection_timeout(std::chrono::seconds(2));
  client.set_read_timeout(std::chrono::seconds(2));
  std::string text;
  client.Get("/events?token=" + address.token, [&](const char* piece, size_t size) {
    text.append(piece, size);
    return text.size() < kMost && text.find(kEnd) == std::string::npos;
  });
  const size_t end = text.find(kEnd);
  if (!text.starts_with(kData) || end == std::string::npos) return std::nullopt;
  nlohmann::json state = nlohmann::json::parse(text.substr(kData.size(), end - kData.size()), nullptr, false);
  if (!state.is_object()) return std::nullopt;
  return state;
}

}  // namespace rankwire
