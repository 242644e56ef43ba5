// What a server is told by whoever starts it. `rankwire serve` hands it to rankwire-serve as JSON, so that both have
// one description of the options.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rankwire {

struct ServeOptions {
  std::string listen = "127.0.0.1:8443";  ///< REST, as parse_listen reads it
  std::string grpc = "127.0.0.1:40051";   ///< gRPC, the same; "none": not served
  std::string root = "serve";             ///< folder of all that is kept
  std::string token_file;                 ///< its first line is the token; empty: none is asked for
  std::string certificate, key;           ///< PEM files: both are served with TLS; empty: without
  std::vector<std::string> devices;       ///< that ports may name beside those of the embedded switch
  uint64_t quota = 10'000'000'000;        ///< bytes
  uint32_t keep = 100;                    ///< runs
  uint32_t queue = 16;                    ///< runs that wait
  uint32_t runs = 1;                      ///< runs at a time
  uint64_t body = 1'000'000'000;          ///< bytes of a request
  uint32_t rate = 100;                    ///< requests a second
  uint32_t longest = 3600;                ///< seconds for which flows send at most
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ServeOptions, listen, grpc, root, token_file, certificate, key, devices, quota, keep,
                                   queue, runs, body, rate, longest)

}  // namespace rankwire
