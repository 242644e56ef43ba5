#include "base/error.h"
#include "emulator/grpc/grpc_server.h"

namespace rankwire {

std::unique_ptr<GrpcServer> serve_grpc(const ServeOptions&, const std::string&, OtgService&) {
  fail_input("--grpc: this rankwire was built without gRPC (package libgrpc++-dev)");
}

bool has_grpc() {
  return false;
}

}  // namespace rankwire
