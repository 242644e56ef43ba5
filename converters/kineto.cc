#include "converters/kineto.h"

#include <algorithm>
#include <utility>

#include "converters/json_array_splitter.h"
#include "converters/json_fields.h"
#include "proto/byte_stream.h"

namespace rankwire {
namespace {

namespace ondemand = simdjson::ondemand;

/// One event with those of its arguments that matter, whatever its category.
struct Event {
  std::string_view category, phase;
  std::string name;
  std::optional<int64_t> begin, duration;
  bool wrong_duration = false;  ///< there is one, but it is no number
  std::optional<int64_t> process, thread;
  int64_t record_function = -1, correlation = -1, stream = -1, wait_on_stream = -1, record_correlation = -1;
  std::string synchronization;
  // NCCL's
  std::optional<PytorchCall> call;
  int64_t input_elements = 0, output_elements = 0;
  std::string type;
};

/// Of all times, ns, so that differences of any two can be added up.
constexpr int64_t kLatest = int64_t{1} << 61;

using IntegerField = std::pair<std::string_view, int64_t Event::*>;
constexpr IntegerField kIntegers[] = {
    {"Record function id", &Event::record_function},
    {"correlation", &Event::correlation},
    {"stream", &Event::stream},
    {"wait_on_stream", &Event::wait_on_stream},
    {"wait_on_cuda_event_record_corr_id", &Event::record_correlation},
    {"In msg nelems", &Event::input_elements},
    {"Out msg nelems", &Event::output_elements},
};

PytorchCall& call_of(Event& event) {
  return event.call ? *event.call : event.call.emplace();
}

/// Arguments of NCCL's kernels and, in newer PyTorch, of record_param_comms: kCommsName and so on in
/// ParamCommsUtils.hpp.
void read_call_argument(std::string_view key, ondemand::value value, Event& event) {
  const auto text = written(value);
  if (!text) return;
  if (key == "Collective name") {
    call_of(event).kind = call_kind(*text);
  } else if (key == "dtype") {
    event.type = *text;
  } else if (key == "Group size") {
    const int64_t members = integer_in(*text).value_or(0);
    call_of(event).members = members > 0 && members <= (1 << 20) ? members : 0;
  } else if (key == "Process Group Name") {
    call_of(event).group = *text;
  } else if (key == "Process Group Ranks") {
    call_of(event).ranks = parse_integers(*text);
  } else if (key == "In split size") {
    call_of(event).input_split = parse_integers(*text);
  } else if (key == "Out split size") {
    call_of(event).output_split = parse_integers(*text);
  } else if (key == "Src Rank" || key == "Dst Rank") {
    call_of(event).peer = integer_in(*text).value_or(-1);
  } else if (key == "Seq") {
    call_of(event).sequence = integer_in(*text).value_or(-1);
  } else if (key == "Rank") {
    call_of(event).rank = integer_in(*text).value_or(-1);
  }
}

void read_arguments(ondemand::object arguments, Event& event) {
  for (auto field : arguments) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    bool known = false;
    for (const auto& [name, member] : kIntegers) {
      if (key != name) continue;
      event.*member = written_integer(value).value_or(-1);
      known = true;
    }
    if (key == "cuda_sync_kind") {
      event.synchronization = std::string_view(value.get_string());
    } else if (!known) {
      read_call_argument(key, value, event);
    }
  }
}

Event read_event(ondemand::object object) {
  Event event;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (key == "ph") {
      event.phase = written(value).value_or("");
    } else if (key == "cat") {
      event.category = written(value).value_or("");
    } else if (key == "name") {
      event.name = written(value).value_or("");
    } else if (key == "ts") {
      event.begin = nanoseconds_of(written(value).value_or(""));
    } else if (key == "dur") {
      event.duration = nanoseconds_of(written(value).value_or(""));
      event.wrong_duration = !event.duration;
    } else if (key == "pid") {
      event.process = written_integer(value);
    } else if (key == "tid") {
      event.thread = written_integer(value);
    } else if (key == "args" && ondemand::json_type(value.type()) == ondemand::json_type::object) {
      read_arguments(value.get_object(), event);
    }
  }
  return event;
}

std::optional<KinetoSynchronization::Kind> synchronization_kind(std::string_view kind) {
  using enum KinetoSynchronization::Kind;
  if (kind == "Stream Sync") return kStream;
  if (kind == "Context Sync" || kind == "Device Sync") return kContext;
  if (kind == "Event Sync") return kEvent;
  if (kind == "Stream Wait Event") return kStreamWaitEvent;
  return std::nullopt;
}

/// simdjson reads a little beyond the end.
simdjson::padded_string_view padded(std::string& text) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  return simdjson::padded_string_view(text.data(), text.size(), text.capacity());
}

class KinetoReader {
 public:
  KinetoReader(const std::string& path, Warnings& warnings) : path_(path), warnings_(warnings) {}

  /// The next part of the file.
  void feed(std::string_view text) { events_.feed(text); }
  KinetoTrace finish();

 private:
  void read_events(ondemand::array events);
  void add(Event&& event, const JsonPlace& place);
  void add_device_operation(Event&& event, const KinetoSpan& span, const JsonPlace& place);
  void read_distribution(ondemand::object info);
  std::optional<int64_t> read_place(std::string_view key, ondemand::value value, int64_t least);

  const std::string& path_;
  Warnings& warnings_;
  KinetoTrace trace_;
  ondemand::parser parser_;
  uint64_t events_read_ = 0;
  JsonArraySplitter events_{"traceEvents", [this](std::string& batch) {
                              JsonPlace{path_, "the JSON"}.read([&] {
                                ondemand::document document = parser_.iterate(padded(batch));
                                read_events(document.get_array());
                              });
                            }};
};

/// Enters how much a call moves.
void set_sizes(Event& event, const JsonPlace& place) {
  const auto element = element_size(event.type);
  const int64_t most = std::max(event.input_elements, event.output_elements);
  if (std::min(event.input_elements, event.output_elements) < 0 || most > (int64_t{1} << 40)) {
    place.fail("{} elements in, {} out", event.input_elements, event.output_elements);
  }
  if (!element && most > 0) place.fail("dtype \"{}\" is no type of PyTorch's", event.type);
  event.call->input = Bytes(event.input_elements * element.value_or(0));
  event.call->output = Bytes(event.output_elements * element.value_or(0));
}

void KinetoReader::add_device_operation(Event&& event, const KinetoSpan& span, const JsonPlace& place) {
  if (event.stream < 0) place.fail("a {} without args.stream", event.category);
  if (event.call) set_sizes(event, place);
  auto call = event.call ? std::make_unique<PytorchCall>(std::move(*event.call)) : nullptr;
  trace_.device.push_back({span, event.stream, event.correlation, std::move(call)});
}

void KinetoReader::add(Event&& event, const JsonPlace& place) {
  if (event.phase != "X") return;
  const std::string_view category = event.category;
  if (category == "cuda_sync") {
    const auto kind = synchronization_kind(event.synchronization.empty() ? event.name : event.synchronization);
    if (!kind) return;
    trace_.synchronizations.push_back(
        {*kind, event.stream, event.wait_on_stream, event.record_correlation, event.correlation});
    return;
  }
  const bool on_host = category == "cpu_op" || category == "user_annotation";
  const bool runtime =
      category == "cuda_runtime" || category == "cuda_driver" || category == "Runtime" || category == "mtia_runtime";
  // Events of MTIA's command processor that have no stream are not the program's.
  const bool device = category == "kernel" || category == "Kernel" || category == "gpu_memcpy" ||
                      category == "gpu_memset" || (category == "mtia_ccp_events" && event.stream >= 0);
  if (!on_host && !runtime && !device) return;
  if (on_host && event.name.find("ProfilerStep") != event.name.npos) return;
  if (!event.begin) place.fail("ts is no number of microseconds");
  if (event.wrong_duration) place.fail("dur is no number of microseconds");
  const int64_t duration = event.duration.value_or(0);
  int64_t end;
  if (duration < 0 || __builtin_add_overflow(*event.begin, duration, &end)) place.fail("dur is no duration");
  if (*event.begin < -kLatest || end > kLatest) place.fail("ts is not within 73 years of 1970");
  const KinetoSpan span{trace_.names.index_of(event.name), *event.begin, end};
  if (device) {
    add_device_operation(std::move(event), span, place);
    return;
  }
  if (!event.thread) place.fail("a {} whose tid is no number", category);
  if (runtime) {
    trace_.calls.push_back({span, *event.thread, event.correlation});
    return;
  }
  if (event.process) trace_.process = *event.process;
  if (event.call && event.name == "record_param_comms" && moves_data(*event.call)) {
    set_sizes(event, place);
    trace_.recorded.emplace(static_cast<uint32_t>(trace_.operators.size()), std::move(*event.call));
  }
  trace_.operators.push_back({span, *event.thread, event.record_function});
}

/// Of the process among all, from `least` on; nothing where it cannot be.
std::optional<int64_t> KinetoReader::read_place(std::string_view key, ondemand::value value, int64_t least) {
  constexpr int64_t kMost = 1 << 20;
  const std::optional<int64_t> place = written_integer(value);
  if (place && *place >= least && *place <= kMost) return place;
  warnings_.push_back(
      fmt::format("{}: distributedInfo.{} is not {} to {} and counts as not recorded", path_, key, least, kMost));
  return std::nullopt;
}

void KinetoReader::read_distribution(ondemand::object info) {
  for (auto field : info) {
    const std::string_view key = field.unescaped_key();
    ondemand::value value = field.value();
    if (key == "rank") {
      trace_.rank = read_place(key, value, 0);
    } else if (key == "world_size") {
      trace_.world_size = read_place(key, value, 1);
    } else if (key == "pg_config" && ondemand::json_type(value.type()) == ondemand::json_type::array) {
      ondemand::array list = value.get_array();
      trace_.groups = parse_group_list(list.raw_json(), path_ + ": distributedInfo.pg_config", warnings_);
    }
  }
}

void KinetoReader::read_events(ondemand::array events) {
  JsonPlace place{path_, ""};
  for (auto event : events) {
    place.path = fmt::format("traceEvents[{}]", events_read_++);
    place.read([&] { add(read_event(event.get_object()), place); });
  }
}

KinetoTrace KinetoReader::finish() {
  std::string rest = events_.finish();
  bool has_events = false;
  JsonPlace{path_, "the JSON"}.read([&] {
    ondemand::document document = parser_.iterate(padded(rest));
    for (auto field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      ondemand::value value = field.value();
      if (key == "distributedInfo") {
        read_distribution(value.get_object());
      } else if (key == "traceEvents") {
        has_events = true;
        if (ondemand::json_type(value.type()) != ondemand::json_type::array)
          fail_input("{}: traceEvents is no list", path_);
        read_events(value.get_array());
      }
    }
  });
  if (!has_events) fail_input("{}: no \"traceEvents\": not a trace of Kineto", path_);
  return std::move(trace_);
}

}  // namespace

uint32_t KinetoNames::index_of(std::string_view name) {
  const auto [at, added] = index_.try_emplace(std::string(name), static_cast<uint32_t>(texts_.size()));
  if (added) texts_.push_back(&at->first);
  return at->second;
}

KinetoTrace read_kineto(const std::string& path, Warnings& warnings) {
  ByteStream bytes(path);
  bytes.skip_byte_order_mark();
  KinetoReader reader(path, warnings);
  for (std::string_view text = bytes.peek(1); !text.empty(); text = bytes.peek(1)) {
    reader.feed(text);
    bytes.skip(text.size());
  }
  if (!bytes.problem().empty()) fail_input("{}: {}", path, bytes.problem());
  return reader.finish();
}

KinetoTrace parse_kineto(std::string_view text, const std::string& path, Warnings& warnings) {
  KinetoReader reader(path, warnings);
  reader.feed(text);
  return reader.finish();
}

}  // namespace rankwire
