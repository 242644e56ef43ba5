#include "emulator/grpc/model.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/json_util.h>

#include <vector>

#include "base/error.h"
#include "emulator/serve/serve_error.h"

namespace rankwire {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::json;

constexpr const char* kReflected = "grpc.reflection.v1alpha.";

/// Of a message that has fields of its own; what is below one that has none is refused by the name of its field.
void find_unknown(const pb::Message& message, const std::string& path, std::vector<std::string>& errors) {
  const pb::Descriptor& type = *message.GetDescriptor();
  if (type.field_count() == 0) return;
  const pb::Reflection& reflection = *message.GetReflection();
  const pb::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i)
    errors.push_back(fmt::format("{}: field {} of {} is not served", path.empty() ? "the request" : path,
                                 unknown.field(i).number(), type.name()));
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string below = path.empty() ? field->name() : path + "." + field->name();
    if (!field->is_repeated()) find_unknown(reflection.GetMessage(message, field), below, errors);
    for (int i = 0; field->is_repeated() && i < reflection.FieldSize(message, field); ++i)
      find_unknown(reflection.GetRepeatedMessage(message, field, i), fmt::format("{}[{}]", below, i), errors);
  }
}

}  // namespace

struct GrpcModel::Pool {
  pb::SimpleDescriptorDatabase files;
  std::unique_ptr<pb::DescriptorPool> descriptors;
  std::unique_ptr<pb::DynamicMessageFactory> factory;

  std::unique_ptr<pb::Message> message(const std::string& type) const {
    return std::unique_ptr<pb::Message>(factory->GetPrototype(descriptors->FindMessageTypeByName(type))->New());
  }
};

GrpcModel::GrpcModel() : pool_(std::make_unique<Pool>()) {
  pb::FileDescriptorSet set;
  const std::string_view bytes = model_descriptor();
  if (!set.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) fail_run("the model of the API is broken");
  for (const pb::FileDescriptorProto& file : set.file()) pool_->files.Add(file);
  pool_->descriptors = std::make_unique<pb::DescriptorPool>(&pool_->files);
  pool_->factory = std::make_unique<pb::DynamicMessageFactory>(pool_->descriptors.get());
}

GrpcModel::~GrpcModel() = default;

Json GrpcModel::json_of(const std::string& type, const std::string& bytes) const {
  const std::unique_ptr<pb::Message> message = pool_->message(type);
  if (!message->ParseFromString(bytes)) throw ServeError(400, fmt::format("no message {}", type));
  std::vector<std::string> errors;
  find_unknown(*message, "", errors);
  if (!errors.empty()) throw ServeError(400, errors);
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!pb::util::MessageToJsonString(*message, &text, options).ok())
    throw ServeError(400, fmt::format("no message {}: its texts are UTF-8", type));
  return Json::parse(text);
}

std::string GrpcModel::bytes_of(const std::string& type, const Json& json) const {
  const std::unique_ptr<pb::Message> message = pool_->message(type);
  const pb::util::Status status =
      pb::util::JsonStringToMessage(json.dump(-1, ' ', false, Json::error_handler_t::replace), message.get());
  if (!status.ok()) throw ServeError(500, fmt::format("{}: {}", type, std::string(status.message())));
  return message->SerializeAsString();
}

std::string GrpcModel::reflect(const std::string& request) const {
  const std::string of_request = fmt::format("{}ServerReflectionRequest", kReflected);
  const Json asked = json_of(of_request, request);
  Json answer{{"original_request", asked}};
  pb::FileDescriptorProto file;
  if (asked.contains("list_services")) {
    answer["list_services_response"]["service"] = {{{"name", "otg.Openapi"}},
                                                   {{"name", fmt::format("{}ServerReflection", kReflected)}}};
  } else if (asked.contains("file_containing_symbol")
                 ? pool_->files.FindFileContainingSymbol(asked["file_containing_symbol"].get<std::string>(), &file)
                 : pool_->files.FindFileByName(asked.value("file_by_filename", ""), &file)) {
    // Bytes of protobuf's JSON are base64, which is spared here: this one answer is written field by field.
    const std::unique_ptr<pb::Message> message = pool_->message(fmt::format("{}FileDescriptorResponse", kReflected));
    const pb::FieldDescriptor* field = message->GetDescriptor()->FindFieldByName("file_descriptor_proto");
    message->GetReflection()->AddString(message.get(), field, file.SerializeAsString());
    const std::unique_ptr<pb::Message> whole = pool_->message(fmt::format("{}ServerReflectionResponse", kReflected));
    whole->ParseFromString(bytes_of(whole->GetDescriptor()->full_name(), answer));
    const pb::FieldDescriptor* place = whole->GetDescriptor()->FindFieldByName("file_descriptor_response");
    whole->GetReflection()->MutableMessage(whole.get(), place)->CopyFrom(*message);
    return whole->SerializeAsString();
  } else {
    constexpr int kNotFound = 5;  // of gRPC's codes
    answer["error_response"] = {{"error_code", kNotFound}, {"error_message", "nothing is known of it"}};
  }
  return bytes_of(fmt::format("{}ServerReflectionResponse", kReflected), answer);
}

}  // namespace rankwire
