#include "emulator/nic_check/agent_token.h"

#include <cstdlib>
#include <fstream>

#include "base/error.h"

namespace rankwire {

std::string agent_token(const std::string& given, const std::string& file) {
  if (!given.empty()) return given;
  if (file.empty()) {
    const char* const text = std::getenv(kAgentTokenVariable);
    return text == nullptr ? "" : text;
  }
  std::ifstream in(file);
  if (!in) fail_input("{}: the file with the agent's token cannot be read", file);
  std::string token;
  std::getline(in, token);
  if (token.ends_with('\r')) token.pop_back();
  if (token.empty()) fail_input("{}: the first line must be the agent's token, and is empty", file);
  return token;
}

}  // namespace rankwire
