#include "emulator/traces/pseudonyms.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cmath>
#include <cstring>

#include "base/error.h"

namespace rankwire {

Pseudonyms::Pseudonyms(const std::string& key) : key_(key) {
  constexpr size_t kRandomBytes = 32;  // as the digest has
  if (!key_.empty()) return;
  key_.resize(kRandomBytes);
  if (RAND_bytes(reinterpret_cast<unsigned char*>(key_.data()), kRandomBytes) != 1) {
    fail_run("the system has no random bytes for a key; --key gives one");
  }
}

std::string Pseudonyms::of(std::string_view prefix, std::string_view name) const {
  if (name.empty()) return {};
  return fmt::format("{}{:016x}", prefix, digest(prefix, name));
}

double Pseudonyms::fraction(std::string_view purpose) const {
  return std::ldexp(static_cast<double>(digest("fraction", purpose) >> 11), -53);
}

uint64_t Pseudonyms::digest(std::string_view purpose, std::string_view text) const {
  // A zero between them: no purpose contains one, so that no two pairs give the same bytes.
  std::string message(purpose);
  message.push_back('\0');
  message += text;
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(message.data());
  if (HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()), data, message.size(), bytes, &size) == nullptr) {
    fail_run("OpenSSL cannot compute HMAC-SHA256");
  }
  uint64_t first;
  std::memcpy(&first, bytes, sizeof first);
  return first;
}

}  // namespace rankwire
