// What a client says to show that it may ask.
#pragma once

#include <strings.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace rankwire {

/// "bearer TOKEN" as "Bearer TOKEN", and "Basic" likewise: schemes are told apart without case (RFC 7235, section 2.1).
inline std::string with_known_scheme(std::string authorization) {
  for (const std::string_view scheme : {"Bearer ", "Basic "})
    if (strncasecmp(authorization.c_str(), scheme.data(), scheme.size()) == 0)
      authorization.replace(0, scheme.size(), scheme);
  return authorization;
}

}  // namespace rankwire
