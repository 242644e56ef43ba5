// rankwire-serve: what `rankwire serve` becomes, a program of its own since it alone needs gRPC.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "emulator/grpc/grpc_server.h"
#include "emulator/live/http_server.h"
#include "emulator/serve/rest_server.h"
#include "emulator/serve/serve_options.h"

namespace rankwire {
namespace {

std::string read_token(const std::string& path) {
  constexpr size_t kShortest = 16;
  if (path.empty()) return {};
  std::ifstream file(path);
  std::string token;
  const bool is_read = static_cast<bool>(std::getline(file, token));
  // No header of HTTP has blanks at its end, so that a token with one, or of a file from Windows, could not be sent.
  token.erase(token.find_last_not_of(" \t\r") + 1);
  if (!is_read || token.empty()) fail_input("--token: {}: cannot be read, or its first line is empty", path);
  if (token.size() < kShortest) fail_input("--token: {}: a token has {} characters at least", path, kShortest);
  return token;
}

void require_token(const ServeOptions& options, const std::string& token, const std::string& option,
                   const std::string& where) {
  if (parse_listen(where, option).is_loopback()) return;
  if (token.empty()) fail_input("{} {}: an address that others reach needs --token FILE", option, where);
  if (!options.certificate.empty()) return;
  log_warning(fmt::format("{} {}: nothing is encrypted without --certificate: whoever sees the traffic has the token",
                          option, where));
}

sigset_t ending_signals() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&ends, number);
  return ends;
}

/// Serves until SIGINT or SIGTERM, which are blocked in this thread and all others; then ends the runs that go on.
/// Prints where, as JSON in one line. `program`: the rankwire that runs things. Throws Error.
void serve(const ServeOptions& options, const std::filesystem::path& program) {
  const std::string token = read_token(options.token_file);
  require_token(options, token, "--listen", options.listen);
  const bool wants_grpc = options.grpc != "none" && has_grpc();
  if (wants_grpc) require_token(options, token, "--grpc", options.grpc);
  KeptRuns store(std::filesystem::absolute(options.root), {options.quota, options.keep});
  RunQueue queue(program, store, options.queue, options.runs);
  OtgService service(store, queue, options.devices, std::chrono::seconds(options.longest));
  RestServer rest(options, token, service, queue, store);
  std::unique_ptr<GrpcServer> grpc;
  if (wants_grpc) grpc = serve_grpc(options, token, service);
  rest.start();
  nlohmann::ordered_json where{{"rest", rest.origin()}, {"grpc", nullptr}};
  if (grpc) where["grpc"] = grpc->address();
  fmt::print("{}\n", where.dump());
  std::fflush(stdout);
  const sigset_t ends = ending_signals();
  int number = 0;
  sigwait(&ends, &number);
}

}  // namespace
}  // namespace rankwire

int main(int argc, char** argv) {
  using rankwire::Error;
  rankwire::configure_log(rankwire::Verbosity::kNormal);
  if (argc != 2) {
    rankwire::log_error("this is a part of 'rankwire serve', which says how it is used");
    return 2;
  }
  // Before there are threads, which are to leave these signals to this one.
  const sigset_t ends = rankwire::ending_signals();
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  try {
    const auto options = nlohmann::json::parse(argv[1]).get<rankwire::ServeOptions>();
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    rankwire::serve(options, self.parent_path() / "rankwire");
    return 0;
  } catch (const Error& error) {
    rankwire::log_error(error.what());
    return error.kind() == rankwire::ErrorKind::kInput ? 2 : 1;
  } catch (const std::exception& error) {
    rankwire::log_error(error.what());
    return 1;
  }
}
