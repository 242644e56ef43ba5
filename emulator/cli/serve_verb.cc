#include "emulator/cli/serve_verb.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace rankwire {

void become_server(const ServeOptions& options) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  std::string program = (self.parent_path() / "rankwire-serve").string(), json = nlohmann::json(options).dump();
  char* const arguments[] = {program.data(), json.data(), nullptr};
  ::execv(program.c_str(), arguments);
  fail_run("{}: {}", program, std::strerror(errno));
}

namespace {

/// The library takes -5 for 2^64 - 5.
CLI::Validator not_negative() {
  return CLI::Validator(
      [](std::string& text) {
        return text.starts_with('-') ? fmt::format("takes a whole number, 0 or more, not '{}'", text) : std::string();
      },
      "");
}

}  // namespace

void add_serve_verb(CLI::App& app, ServeOptions& options) {
  CLI::App& verb = *app.add_subcommand(
      "serve", "answer the Open Traffic Generator API over HTTP and gRPC, until interrupted (docs/serve.md)");
  verb.add_option("--listen", options.listen, "HTTP: ADDRESS:PORT; port 0: any that is free")->capture_default_str();
  verb.add_option("--grpc", options.grpc, "gRPC: ADDRESS:PORT, or none")->capture_default_str();
  verb.add_option("--root", options.root, "folder of all that is kept; one server at a time uses it")
      ->capture_default_str();
  verb.add_option("--token", options.token_file,
                  "file whose first line clients must send as 'Authorization: Bearer'; required where others than this "
                  "host reach the address");
  CLI::Option& certificate = *verb.add_option("--certificate", options.certificate,
                                              "PEM file of the server's certificate: both are then served with TLS");
  CLI::Option& key = *verb.add_option("--key", options.key, "PEM file of its private key, without passphrase");
  certificate.needs(&key);
  key.needs(&certificate);
  verb.add_option("--device", options.devices,
                  "a device that ports may name beside those of the embedded switch; repeatable")
      ->allow_extra_args(false);
  verb.add_option("--quota", options.quota, "bytes of all that is kept; the oldest runs go first")
      ->check(not_negative())
      ->capture_default_str();
  verb.add_option("--keep", options.keep, "runs that are kept")->check(CLI::Range(2, 1'000'000))->capture_default_str();
  verb.add_option("--queue", options.queue, "runs that wait at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--runs", options.runs,
                  "runs that go on at a time at most, of configurations without a device in common; they share the "
                  "machine")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  verb.add_option("--body", options.body, "bytes of a request at most")->check(not_negative())->capture_default_str();
  verb.add_option("--rate", options.rate, "requests a second at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.add_option("--longest", options.longest, "seconds for which flows send at most")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  verb.footer(
      "Example: rankwire serve --root /var/lib/rankwire\n"
      "     and: curl http://127.0.0.1:8443/capabilities/version\n"
      "      or: rankwire serve --listen 198.18.0.1:8443 --token token.txt --certificate cert.pem --key key.pem");
  verb.callback([&options] { become_server(options); });
}

}  // namespace rankwire
