// `trace select`.
#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "emulator/cli/trace_inputs.h"
#include "emulator/traces/select.h"

namespace rankwire {
namespace {

template <class Number>
Number number_of(const char* option, std::string_view text) {
  Number number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_input("{}: \"{}\" is no number; numbers and ranges are written 0-3,7", option, text);
  }
  return number;
}

/// "0-3,7" as (0, 3) and (7, 7).
template <class Number>
std::vector<std::pair<Number, Number>> ranges_of(const char* option, std::string_view text) {
  std::vector<std::pair<Number, Number>> ranges;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const size_t dash = part.find('-');
    const auto first = number_of<Number>(option, part.substr(0, dash));
    const auto last = dash == part.npos ? first : number_of<Number>(option, part.substr(dash + 1));
    if (first > last) fail_input("{}: {} is an empty range", option, part);
    ranges.emplace_back(first, last);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return ranges;
}

std::optional<Span> window_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const size_t dash = text.find('-');
  if (dash == text.npos) fail_input("--window {}: a window is written 1ms-2.5ms", text);
  const Span window{Time(0) + duration_option("--window", text.substr(0, dash)),
                    Time(0) + duration_option("--window", text.substr(dash + 1))};
  if (window.end <= window.start) fail_input("--window {}: ends before it begins", text);
  return window;
}

}  // namespace

int select_traces(const TraceSelectRequest& request) {
  const OutputFolder folder(request.out);
  const PartOptions options{.ranks = ranges_of<uint32_t>("--only-ranks", request.ranks),
                            .kinds = request.kinds,
                            .names = request.names,
                            .ids = ranges_of<uint64_t>("--only-ids", request.ids),
                            .window = window_of(request.window),
                            .prefix = request.out};
  const TimingOptions times = timing_options(request.inputs, request.times);
  const ReadSet read = read_one_set(request.inputs);
  const Timing timing = options.window ? time_operations(read.set, read.matches, times) : Timing();
  const PartOfSet made = select_part(read.set, read.matches, timing, options);
  if (request.inputs.form == OutputForm::kJson) {
    print_json({{"ranks", made.ranks},
                {"nodes", made.nodes},
                {"left_out", made.left_out},
                {"unmatched", made.unmatched},
                {"groups", made.groups.size()},
                {"prefix", request.out}});
    return 0;
  }
  fmt::print("{}{} nodes of these ranks were left out, of which {} for want of their other ends\n",
             made_text(made.ranks, made.nodes, request.out, !made.groups.empty()), made.left_out, made.unmatched);
  return 0;
}

}  // namespace rankwire
