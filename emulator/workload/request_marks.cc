#include "emulator/workload/request_marks.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "proto/attributes.h"
#include "proto/trace_node.h"

namespace rankwire {
namespace {

constexpr std::string_view kRequests = "request_";
constexpr const char* kArrival = "request_arrival";
constexpr const char* kInputTokens = "request_input_tokens";
constexpr const char* kHeldBatches = "request_held_batches";
constexpr const char* kToken = "request_token";

void require_single(const TraceNode& in, const char* name, std::vector<int64_t> requests) {
  std::ranges::sort(requests);
  const auto twice = std::ranges::adjacent_find(requests);
  if (twice != requests.end())
    fail_input("node {} \"{}\": {} has request {} twice; a node tells of each once", in.id, in.name, name, *twice);
}

}  // namespace

void read_request_marks(const TraceNode& in, RankId rank, uint32_t place, std::vector<RequestMark>& marks) {
  // Few nodes have any, and all are looked at.
  const auto is_about_requests = [](const TraceAttribute& attribute) { return attribute.name.starts_with(kRequests); };
  if (std::ranges::none_of(in.attributes, is_about_requests)) return;
  const std::vector<int64_t> arrivals = count_list_attribute(in, kArrival).value_or(std::vector<int64_t>());
  const auto beside_arrivals = [&](const char* name) {
    auto list = count_list_attribute(in, name);
    if (list && list->size() != arrivals.size())
      fail_input("node {} \"{}\": {} has {} numbers and {} {}; each request that arrives must have one", in.id, in.name,
                 name, list->size(), kArrival, arrivals.size());
    return list;
  };
  require_single(in, kArrival, arrivals);
  const auto tokens = beside_arrivals(kInputTokens), held = beside_arrivals(kHeldBatches);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    marks.push_back({.rank = rank,
                     .place = place,
                     .request = arrivals[i],
                     .arrives = true,
                     .input_tokens = tokens ? (*tokens)[i] : 0,
                     .held_batches = held ? std::optional((*held)[i]) : std::nullopt});
  }
  const std::vector<int64_t> given = count_list_attribute(in, kToken).value_or(std::vector<int64_t>());
  require_single(in, kToken, given);
  for (const int64_t request : given) marks.push_back({.rank = rank, .place = place, .request = request});
}

}  // namespace rankwire
