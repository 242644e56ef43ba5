#include "converters/pytorch_call.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "converters/process_group.h"

namespace rankwire {
namespace {

namespace dom = simdjson::dom;

/// What is more is no recording of a real job, and would overflow when it is added up.
constexpr int64_t kMostCallRanks = int64_t{1} << 20, kMostCallBytes = int64_t{1} << 40;

/// Lower-case letters of the name alone: "_reduce_scatter_base" becomes "reducescatterbase".
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

std::optional<int64_t> integer_of(dom::element element) {
  int64_t value;
  if (element.get(value) == simdjson::SUCCESS) return value;
  uint64_t natural;
  if (element.get(natural) == simdjson::SUCCESS) return static_cast<int64_t>(natural);
  return std::nullopt;
}

std::vector<int64_t> integers_of(dom::element element) {
  std::vector<int64_t> integers;
  dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return integers;
  for (const dom::element part : array) {
    const int64_t value = integer_of(part).value_or(-1);
    integers.push_back(value > kMostCallBytes ? -1 : value);
  }
  return integers;
}

/// Ranks, positions and numbers of members; nothing else is in their range.
int64_t rank_of(dom::element element, int64_t otherwise) {
  const int64_t value = integer_of(element).value_or(otherwise);
  return value >= 0 && value <= kMostCallRanks ? value : otherwise;
}

/// Bytes of all tensors within, [tensor_id, storage_id, offset, num_elem, elem_bytes, device] each; absent when there
/// is none.
std::optional<int64_t> tensor_bytes(dom::element element) {
  dom::array array;
  if (element.get(array) != simdjson::SUCCESS) return std::nullopt;
  if (array.size() == 6 && array.at(5).is_string()) {
    const auto count = integer_of(array.at(3).value_unsafe());
    const auto size = integer_of(array.at(4).value_unsafe());
    int64_t bytes;
    const bool sound = count && size && *count >= 0 && *size >= 0 && !__builtin_mul_overflow(*count, *size, &bytes);
    if (sound && bytes <= kMostCallBytes) return bytes;
  }
  std::optional<int64_t> sum;
  for (const dom::element part : array) {
    if (const auto bytes = tensor_bytes(part)) sum = sum.value_or(0) + *bytes;
  }
  return sum;
}

/// {"values": [...]} since schema 1.0.2, the list itself before.
std::optional<dom::array> values_of(dom::element element) {
  dom::array values;
  if (element.get(values) == simdjson::SUCCESS) return values;
  if (element["values"].get(values) == simdjson::SUCCESS) return values;
  return std::nullopt;
}

void read_group(dom::element element, PytorchCall& call) {
  dom::array pair;  // since 1.0.3 [name, description]
  std::string_view name;
  if (element.get(pair) == simdjson::SUCCESS && pair.at(0).get(name) == simdjson::SUCCESS) {
    call.group = name;
  } else if (element.get(name) == simdjson::SUCCESS) {
    call.group = name;
  } else {
    call.handle = integer_of(element).value_or(0);
  }
}

/// [tensors] sequence, group, rank, name, input split, output split [, first rank, stride] [, members].
bool read_inputs(dom::array values, PytorchCall& call) {
  std::vector<dom::element> parts(values.begin(), values.end());
  if (!parts.empty()) {
    if (const auto bytes = tensor_bytes(parts.front())) {
      call.input = Bytes(*bytes);
      parts.erase(parts.begin());
    }
  }
  // An empty list of tensors stands there as well.
  if (parts.size() > 4 && parts[4].is_string() && parts[0].is_array()) parts.erase(parts.begin());
  std::string_view name;
  if (parts.size() < 6 || parts[3].get(name) != simdjson::SUCCESS) return false;
  call.kind = call_kind(name);
  dom::array sequence;  // newer PyTorch: [sequence, whether point-to-point]
  call.sequence =
      (parts[0].get(sequence) == simdjson::SUCCESS && sequence.size() > 0 ? integer_of(sequence.at(0).value_unsafe())
                                                                          : integer_of(parts[0]))
          .value_or(-1);
  read_group(parts[1], call);
  call.rank = rank_of(parts[2], -1);
  call.input_split = integers_of(parts[4]);
  call.output_split = integers_of(parts[5]);
  if (parts.size() >= 9) {
    call.first_rank = rank_of(parts[6], -1);
    call.stride = rank_of(parts[7], 0);
  }
  if (parts.size() > 6) call.members = rank_of(parts.back(), 0);
  return true;
}

void read_attributes(dom::element attributes, PytorchCall& call) {
  dom::array array;
  if (attributes.get(array) != simdjson::SUCCESS) return;
  for (const dom::element attribute : array) {
    std::string_view name, text;
    dom::element value;
    if (attribute["name"].get(name) != simdjson::SUCCESS || attribute["value"].get(value) != simdjson::SUCCESS) {
      continue;
    }
    if (name == "pg_name" && value.get(text) == simdjson::SUCCESS) call.group = text;
    if (name == "global_rank_start") call.first_rank = rank_of(value, -1);
    if (name == "global_rank_stride") call.stride = rank_of(value, 0);
    if (name == "pg_size") call.members = rank_of(value, 0);
    if (name == "in_split_size" && value.get(text) == simdjson::SUCCESS) call.input_split = parse_integers(text);
    if (name == "out_split_size" && value.get(text) == simdjson::SUCCESS) call.output_split = parse_integers(text);
  }
}

}  // namespace

ActionKind call_kind(std::string_view name) {
  using enum ActionKind;
  static constexpr std::array<std::pair<std::string_view, ActionKind>, 12> kKinds{{{"reducescatter", kReduceScatter},
                                                                                   {"allreduce", kAllReduce},
                                                                                   {"allgather", kAllGather},
                                                                                   {"alltoall", kAllToAll},
                                                                                   {"broadcast", kBroadcast},
                                                                                   {"reduce", kReduce},
                                                                                   {"gather", kGather},
                                                                                   {"scatter", kScatter},
                                                                                   {"barrier", kBarrier},
                                                                                   {"send", kSend},
                                                                                   {"recv", kReceive},
                                                                                   {"wait", kWait}}};
  const std::string letters = letters_of(name);
  for (const auto& [part, kind] : kKinds) {
    if (letters.find(part) != letters.npos) return kind;
  }
  return kOther;
}

std::optional<int64_t> element_size(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 27> kSizes{{
      {"float", 4},        {"double", 8},   {"half", 2},       {"bfloat16", 2},       {"long", 8},
      {"longint", 8},      {"int", 4},      {"short", 2},      {"shortint", 2},       {"byte", 1},
      {"unsignedchar", 1}, {"char", 1},     {"signedchar", 1}, {"bool", 1},           {"complexfloat", 8},
      {"cfloat", 8},       {"cdouble", 16}, {"chalf", 4},      {"complexdouble", 16}, {"uint8", 1},
      {"uint16", 2},       {"uint32", 4},   {"uint64", 8},     {"int8", 1},           {"float16", 2},
      {"float32", 4},      {"int64", 8},
  }};
  std::string plain;
  for (const char c : type) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (plain.starts_with("float8")) return 1;
  const auto found = std::ranges::find(kSizes, plain, [](const auto& entry) { return entry.first; });
  if (found == kSizes.end()) return std::nullopt;
  return found->second;
}

std::optional<PytorchCall> parse_recorded_call(dom::element inputs, std::optional<dom::element> outputs,
                                               std::optional<dom::element> attributes) {
  PytorchCall call;
  const auto values = values_of(inputs);
  if (!values || !read_inputs(*values, call)) return std::nullopt;
  if (outputs) {
    if (const auto results = values_of(*outputs)) {
      for (const dom::element result : *results) call.output.count += tensor_bytes(result).value_or(0);
    }
  }
  if (attributes) read_attributes(*attributes, call);
  return call;
}

}  // namespace rankwire
