// SHA-256 of what comes bit by bit.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace rankwire {

class Sha256 {
 public:
  /// Throws Error(kRun) where OpenSSL has none.
  Sha256();
  ~Sha256();
  void add(std::string_view bytes);
  /// 64 small hexadecimal digits. Ends it.
  std::string digits();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace rankwire
