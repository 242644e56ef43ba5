// The Open Traffic Generator API over gRPC.
#pragma once

#include <memory>
#include <string>

#include "emulator/serve/otg_service.h"
#include "emulator/serve/request_rate.h"
#include "emulator/serve/serve_options.h"

namespace rankwire {

class GrpcServer {
 public:
  virtual ~GrpcServer() = default;
  /// "127.0.0.1:40051".
  virtual std::string address() const = 0;
};

/// Serves `options.grpc` until it is destroyed. Throws Error(kInput) when the address cannot be had, or this build has
/// no gRPC. `service` outlives it; `token` as of RestServer.
std::unique_ptr<GrpcServer> serve_grpc(const ServeOptions& options, const std::string& token, OtgService& service);
/// Whether this build has it.
bool has_grpc();

}  // namespace rankwire
