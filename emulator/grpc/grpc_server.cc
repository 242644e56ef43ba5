#include "emulator/grpc/grpc_server.h"

#include <fmt/format.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/grpc/model.h"
#include "emulator/live/http_server.h"
#include "emulator/serve/authorization.h"
#include "emulator/serve/request_rate.h"
#include "emulator/serve/serve_error.h"
#include "emulator/serve/serve_json.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;

constexpr int kMostCalls = 16;
/// The two are the same but for their names (grpc/reflection/v1/reflection.proto); clients ask for either first.
constexpr std::string_view kReflection = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr std::string_view kNewerReflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

grpc::StatusCode code_of(int http) {
  switch (http) {
    case 400:
    case 413:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case 401:
      return grpc::StatusCode::UNAUTHENTICATED;
    case 404:
      return grpc::StatusCode::NOT_FOUND;
    case 409:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case 429:
    case 507:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case 501:
      return grpc::StatusCode::UNIMPLEMENTED;
    case 503:
      return grpc::StatusCode::UNAVAILABLE;
    default:
      return grpc::StatusCode::INTERNAL;
  }
}

/// As the model says: the text is an Error in JSON.
grpc::Status status_of(const ServeError& error) {
  const grpc::StatusCode code = code_of(error.status());
  Json json = otg_error(error.status(), error.errors());
  json["code"] = static_cast<int>(code);
  return {code, json.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

/// What each method does, as JSON; requests and answers wrap those of HTTP in a field.
struct Method {
  const char* request_type;
  const char* answer_type;
  Json (*work)(OtgService& service, const Json& request);
};

/// The field of the request, which need not be there.
Json field(const Json& request, const char* name) {
  return request.value(name, Json::object());
}

const std::map<std::string, Method, std::less<>>& methods() {
  static const std::map<std::string, Method, std::less<>> all = {
      {"/otg.Openapi/SetConfig",
       {"otg.SetConfigRequest", "otg.SetConfigResponse",
        [](OtgService& service, const Json& request) {
          return Json{{"warning", service.set_config(field(request, "config"))}};
        }}},
      {"/otg.Openapi/GetConfig",
       {"google.protobuf.Empty", "otg.GetConfigResponse",
        [](OtgService& service, const Json&) {
          return Json{{"config", service.get_config()}};
        }}},
      {"/otg.Openapi/UpdateConfig",
       {"otg.UpdateConfigRequest", "otg.UpdateConfigResponse",
        [](OtgService& service, const Json& request) {
          return Json{{"warning", service.update_config(field(request, "config_update"))}};
        }}},
      {"/otg.Openapi/AppendConfig",
       {"otg.AppendConfigRequest", "otg.AppendConfigResponse",
        [](OtgService& service, const Json& request) {
          return Json{{"warning", service.append_config(field(request, "config_append"))}};
        }}},
      {"/otg.Openapi/DeleteConfig",
       {"otg.DeleteConfigRequest", "otg.DeleteConfigResponse",
        [](OtgService& service, const Json& request) {
          return Json{{"warning", service.delete_config(field(request, "config_delete"))}};
        }}},
      {"/otg.Openapi/SetControlState",
       {"otg.SetControlStateRequest", "otg.SetControlStateResponse",
        [](OtgService& service, const Json& request) {
          return Json{{"warning", service.set_control_state(field(request, "control_state"))}};
        }}},
      {"/otg.Openapi/GetMetrics",
       {"otg.GetMetricsRequest", "otg.GetMetricsResponse",
        [](OtgService& service, const Json& request) {
          return Json{{"metrics_response", service.get_metrics(field(request, "metrics_request"))}};
        }}},
      {"/otg.Openapi/GetStates",
       {"otg.GetStatesRequest", "otg.GetStatesResponse",
        [](OtgService& service, const Json& request) {
          return Json{{"states_response", service.get_states(field(request, "states_request"))}};
        }}},
      {"/otg.Openapi/GetVersion",
       {"google.protobuf.Empty", "otg.GetVersionResponse",
        [](OtgService& service, const Json&) {
          return Json{{"version", service.get_version()}};
        }}},
  };
  return all;
}

/// A message whose first field are these bytes: protobuf's JSON would have them in base64.
std::string bytes_field(const std::string& bytes) {
  std::string message = "\x0a";  // field 1, of a length that follows
  size_t rest = bytes.size();
  for (; rest > 0x7F; rest >>= 7) message += static_cast<char>((rest & 0x7F) | 0x80);
  message += static_cast<char>(rest);
  return message + bytes;
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The files are known to be good: HTTP is served with the same.
std::shared_ptr<grpc::ServerCredentials> credentials(const ServeOptions& options) {
  if (options.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions tls;
  tls.pem_key_cert_pairs.push_back({text_of(options.key), text_of(options.certificate)});
  return grpc::SslServerCredentials(tls);
}

class Openapi final : public GrpcServer, private grpc::CallbackGenericService {
 public:
  Openapi(const ServeOptions& options, std::string token, OtgService& service)
      : token_(std::move(token)), service_(service), rate_(options.rate) {
    const ListenAddress where = parse_listen(options.grpc, "--grpc");
    const bool is_ipv6 = where.host.find(':') != std::string::npos;
    host_ = is_ipv6 ? "[" + where.host + "]" : where.host;
    grpc::ServerBuilder builder;
    builder.AddListeningPort(fmt::format("{}:{}", host_, where.port), credentials(options), &port_);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(static_cast<int>(kMostJson));
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0) fail_input("--grpc {}: the address cannot be had", options.grpc);
  }
  ~Openapi() override { server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1)); }

  std::string address() const override { return fmt::format("{}:{}", host_, port_); }

 private:
  class Call;

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

  std::string answer(const std::string& name, const std::string& request) {
    if (name == kReflection || name == kNewerReflection) return model_.reflect(request);
    if (name == "/otg.Openapi/GetCapture")
      return bytes_field(
          service_.get_capture(field(model_.json_of("otg.GetCaptureRequest", request), "capture_request")));
    const auto method = methods().find(name);
    if (method == methods().end()) throw ServeError(501, fmt::format("{} is not served", name));
    const Json json = model_.json_of(method->second.request_type, request);
    return model_.bytes_of(method->second.answer_type, method->second.work(service_, json));
  }

  void admit(const grpc::GenericCallbackServerContext& context) {
    const auto given = context.client_metadata().find("authorization");
    const std::string text =
        given == context.client_metadata().end() ? "" : std::string(given->second.data(), given->second.size());
    if (!token_.empty() && !equal_secrets(with_known_scheme(text), "Bearer " + token_))
      throw ServeError(401, "the token is missing or wrong: metadata 'authorization: Bearer TOKEN'");
    if (!rate_.take()) throw ServeError(429, "too many requests a second (--rate)");
  }

  const std::string token_;
  OtgService& service_;
  const GrpcModel model_;
  RequestRate rate_;
  std::atomic<int> calls_{0};
  std::string host_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

/// Answers each message of a call with one; of most methods a client sends one. What takes time is done in a thread of
/// the call's own, since gRPC's are for all.
class Openapi::Call final : public grpc::ServerGenericBidiReactor {
 public:
  Call(Openapi& server, grpc::GenericCallbackServerContext& context) : server_(server), name_(context.method()) {
    const bool is_crowded = server_.calls_.fetch_add(1) >= kMostCalls;
    try {
      server_.admit(context);
      if (is_crowded) throw ServeError(429, "too many calls at a time");
      StartRead(&read_);
    } catch (const ServeError& error) {
      Finish(status_of(error));
    }
  }

  void OnReadDone(bool is_there) override {
    if (!is_there) return Finish(grpc::Status::OK);
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([this] { work(); });
  }
  void OnWriteDone(bool is_written) override {
    if (is_written) {
      StartRead(&read_);
    } else {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "nobody listens"));
    }
  }
  void OnDone() override {
    if (thread_.joinable() && thread_.get_id() == std::this_thread::get_id()) {
      thread_.detach();
    } else if (thread_.joinable()) {
      thread_.join();
    }
    --server_.calls_;
    delete this;
  }

 private:
  void work() {
    try {
      const grpc::Slice slice(server_.answer(name_, bytes_of(read_)));
      written_ = grpc::ByteBuffer(&slice, 1);
      StartWrite(&written_);
    } catch (const ServeError& error) {
      Finish(status_of(error));
    } catch (const std::exception& error) {
      Finish(status_of(ServeError(500, error.what())));
    }
  }

  Openapi& server_;
  const std::string name_;
  grpc::ByteBuffer read_, written_;
  std::thread thread_;
};

grpc::ServerGenericBidiReactor* Openapi::CreateReactor(grpc::GenericCallbackServerContext* context) {
  return new Call(*this, *context);
}

}  // namespace

std::unique_ptr<GrpcServer> serve_grpc(const ServeOptions& options, const std::string& token, OtgService& service) {
  return std::make_unique<Openapi>(options, token, service);
}

bool has_grpc() {
  return true;
}

}  // namespace rankwire
