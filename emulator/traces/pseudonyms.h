// Names that stand for others, which nobody without the key can compute or undo.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace rankwire {

/// HMAC-SHA256 (RFC 2104, FIPS 180-4; OpenSSL's) of what a name means and the name itself. Used by one thread.
class Pseudonyms {
 public:
  /// From a key of any length. "": 32 random bytes, which are kept nowhere else, so that nothing repeats. Throws
  /// Error(kRun) when the system has no random bytes.
  explicit Pseudonyms(const std::string& key);

  /// `prefix` and 16 hexadecimal digits: the same for the same prefix and name, "" for "". Two of a million names are
  /// the same with a probability below 1e-7.
  std::string of(std::string_view prefix, std::string_view name) const;
  /// A secret number in [0, 1) that only the key and the purpose determine.
  double fraction(std::string_view purpose) const;

 private:
  /// The first 64 bits.
  uint64_t digest(std::string_view purpose, std::string_view text) const;

  std::string key_;
};

}  // namespace rankwire
