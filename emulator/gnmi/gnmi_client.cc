#include "emulator/gnmi/gnmi_client.h"

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/device_counters/gnmi_path.h"
#include "emulator/gnmi/notification.h"
#include "gnmi.pb.h"

namespace rankwire {
namespace {

using Json = nlohmann::json;
using SteadyClock = std::chrono::steady_clock;

constexpr int kQuestions = 3, kMostMessage = 16 << 20, kKeepAliveMs = 10'000;

int64_t ns_of(SteadyClock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

std::string contents_of(const std::string& file, const char* key) {
  if (file.empty()) return {};
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream || text.empty()) fail_input("{}: {}: cannot be read, or is empty", key, file);
  return text;
}

std::string first_line_of(const std::string& file, const char* key) {
  const std::string text = contents_of(file, key);
  return text.substr(0, text.find_first_of("\r\n"));
}

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

void set_path(gnmi::Path& path, const GnmiPath& from) {
  path.set_origin(from.origin);
  for (const GnmiElement& element : from.elements) {
    gnmi::PathElem& added = *path.add_elem();
    added.set_name(element.name);
    for (const auto& [key, value] : element.keys) (*added.mutable_key())[key] = value;
  }
}

gnmi::SubscriptionMode mode_of(const std::string& mode) {
  if (mode == "on_change") return gnmi::ON_CHANGE;
  return mode == "sample" ? gnmi::SAMPLE : gnmi::TARGET_DEFINED;
}

gnmi::Encoding encoding_of(const std::string& encoding) {
  if (encoding == "json") return gnmi::JSON;
  return encoding == "proto" ? gnmi::PROTO : gnmi::JSON_IETF;
}

gnmi::SubscribeRequest request_of(const GnmiOptions& options) {
  gnmi::SubscribeRequest request;
  gnmi::SubscriptionList& list = *request.mutable_subscribe();
  list.set_mode(gnmi::SubscriptionList::STREAM);
  list.set_encoding(encoding_of(options.encoding));
  if (!options.path_target.empty()) list.mutable_prefix()->set_target(options.path_target);
  for (const std::string& path : options.paths) {
    gnmi::Subscription& subscription = *list.add_subscription();
    set_path(*subscription.mutable_path(), parse_gnmi_path(path));
    subscription.set_mode(mode_of(options.mode));
    if (options.mode == "sample") subscription.set_sample_interval(options.interval_ns);
  }
  return request;
}

/// False when nobody reads any more.
bool print(const Json& line) {
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

class Subscriber {
 public:
  explicit Subscriber(const GnmiOptions& options)
      : options_(options), patience_(options.patience_ns), stub_(channel(options)) {
    if (!options.password_file.empty()) password_ = first_line_of(options.password_file, "password_file");
  }

  void run() {
    if (const std::optional<int64_t> round_trip = ask(); round_trip && !print({{"round_trip_ns", *round_trip}})) return;
    grpc::ClientContext context;
    identify(context);
    const auto call = stub_.PrepareCall(&context, "/gnmi.gNMI/Subscribe", &queue_);
    const auto asked = SteadyClock::now();
    const auto latest = asked + patience_;
    call->StartCall(this);
    bool is_well = await(context, latest);
    if (is_well) {
      call->Write(buffer_of(request_of(options_).SerializeAsString()), this);
      is_well = await(context, latest);
    }
    bool is_first = true, is_synchronised = false;
    grpc::ByteBuffer buffer;
    while (is_well) {
      call->Read(&buffer, this);
      is_well = await(context, is_first ? std::optional(latest) : std::nullopt);
      if (!is_well) break;
      const auto arrived = SteadyClock::now();
      is_first = false;
      gnmi::SubscribeResponse response;
      if (!response.ParseFromString(bytes_of(buffer))) fail_run("{}: sent what is no message of gNMI", options_.target);
      is_synchronised = is_synchronised || response.sync_response();
      if (response.has_update() && !tell(response.update(), is_synchronised, asked, arrived)) return;
    }
    grpc::Status status;
    call->Finish(&status, this);
    await(context, SteadyClock::now() + patience_);
    fail_run("{}: {}", options_.target, status.ok() ? "the device ended the subscription" : reason_of(status));
  }

 private:
  static std::shared_ptr<grpc::Channel> channel(const GnmiOptions& options) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(kMostMessage);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
    if (!options.tls) return grpc::CreateCustomChannel(options.target, grpc::InsecureChannelCredentials(), arguments);
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = contents_of(options.ca, "ca");
    tls.pem_cert_chain = contents_of(options.certificate, "certificate");
    tls.pem_private_key = contents_of(options.key, "key");
    if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
    return grpc::CreateCustomChannel(options.target, grpc::SslCredentials(tls), arguments);
  }

  static std::string reason_of(const grpc::Status& status) {
    return status.error_message().empty() ? fmt::format("code {} of gRPC", static_cast<int>(status.error_code()))
                                          : status.error_message();
  }

  /// As of the gNMI specification on authentication.
  void identify(grpc::ClientContext& context) const {
    if (options_.username.empty()) return;
    context.AddMetadata("username", options_.username);
    context.AddMetadata("password", password_);
  }

  /// Whether the operation that is under way went well. Throws when it has not ended by then.
  bool await(grpc::ClientContext& context, std::optional<SteadyClock::time_point> latest) {
    void* tag = nullptr;
    bool is_well = false;
    if (!latest) return queue_.Next(&tag, &is_well) && is_well;
    const auto left = *latest - SteadyClock::now();
    const auto deadline =
        std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(left);
    if (queue_.AsyncNext(&tag, &is_well, deadline) == grpc::CompletionQueue::GOT_EVENT) return is_well;
    context.TryCancel();
    fail_run("{}: did not answer within {:.3g} s", options_.target, std::chrono::duration<double>(patience_).count());
  }

  /// The shortest time that a question took: any answer will do, also that it is not understood.
  std::optional<int64_t> ask() {
    std::optional<int64_t> shortest;
    for (int i = 0; i < kQuestions; ++i) {
      grpc::ClientContext context;
      identify(context);
      const auto begin = SteadyClock::now();
      context.set_deadline(std::chrono::system_clock::now() +
                           std::chrono::duration_cast<std::chrono::microseconds>(patience_));
      grpc::ByteBuffer answer;
      grpc::Status status;
      const auto call = stub_.PrepareUnaryCall(&context, "/gnmi.gNMI/Capabilities", buffer_of(""), &queue_);
      call->StartCall();
      call->Finish(&answer, &status, this);
      await(context, begin + patience_ + std::chrono::seconds(1));
      const int64_t took = ns_of(SteadyClock::now() - begin);
      const grpc::StatusCode code = status.error_code();
      if (code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED)
        fail_run("{}: {}", options_.target, reason_of(status));
      shortest = std::min(shortest.value_or(took), took);
    }
    return shortest;
  }

  /// Of what has changed some time ago the device sends first how it is now, with the stamp of then.
  bool tell(const gnmi::Notification& notification, bool is_synchronised, SteadyClock::time_point asked,
            SteadyClock::time_point arrived) const {
    Json line{{"counters", counters_of(notification, options_.ports)}};
    if (line["counters"].empty()) return true;
    line["arrived_ns"] = ns_of(arrived.time_since_epoch());
    if (options_.mode == "sample" || is_synchronised) {
      if (notification.timestamp() > 0) line["time_ns"] = notification.timestamp();
    } else {
      line["within_ns"] = ns_of(arrived - asked);
    }
    return print(line);
  }

  const GnmiOptions& options_;
  const std::chrono::nanoseconds patience_;
  std::string password_;
  grpc::GenericStub stub_;
  grpc::CompletionQueue queue_;
};

}  // namespace

void subscribe_gnmi(const GnmiOptions& options) {
  Subscriber(options).run();
}

}  // namespace rankwire
