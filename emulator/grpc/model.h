// The messages of the Open Traffic Generator API as they travel by gRPC, and the same as JSON.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rankwire {

/// A FileDescriptorSet of otg.proto and reflection.proto with all that they import, which the build makes.
std::string_view model_descriptor();

/// Knows no message by a class of its own: all are read and written by their descriptors. Constant once it is made.
class GrpcModel {
 public:
  /// Throws Error(kRun) when the descriptors are broken.
  GrpcModel();
  ~GrpcModel();

  /// Bytes of a message as JSON. Throws ServeError 400 for bytes that are none, and for fields that the model, as it is
  /// known here, does not have: they have no name, and are not ignored.
  nlohmann::json json_of(const std::string& type, const std::string& bytes) const;
  /// JSON as bytes of a message. Throws ServeError 500 for what the message does not have.
  std::string bytes_of(const std::string& type, const nlohmann::json& json) const;

  /// What a request of server reflection is answered.
  std::string reflect(const std::string& request) const;

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace rankwire
