// Arguments of which one may be left out.
#pragma once

#include <string>
#include <vector>

namespace rankwire {

/// The arguments of a program, with "--live" and the address behind it as one, and "-c", "--check" and the number: what
/// stands behind them may be the configuration or the operation as well.
class JoinedArguments {
 public:
  JoinedArguments(int argc, const char* const* argv);

  /// How many were joined to the one before them.
  int joined() const { return joined_; }
  const char* const* data() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<const char*> pointers_;
  int joined_ = 0;
};

}  // namespace rankwire
