// The page of a running run (`run --live`), asked from outside.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace rankwire {

/// Where a run serves its page.
struct LiveAddress {
  std::string url;  ///< of the page, with the token
  int port = 0;
  std::string token;
};

/// The address that a run of rankwire wrote into its `log`; absent until it has.
std::optional<LiveAddress> live_address(const std::filesystem::path& log);

/// The state that the page is told (docs/live.md); absent when it does not answer within two seconds.
std::optional<nlohmann::json> live_state(const LiveAddress& address);

}  // namespace rankwire
