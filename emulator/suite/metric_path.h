// Values of a JSON document by the path to them: "transport.retransmitted", "ports[*].rx_missed".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

struct MetricValue {
  std::string path;                              ///< with names in full and what `[*]` stands for
  const nlohmann::ordered_json* json = nullptr;  ///< in the document; null JSON: it has no such figure
};

/// All that a path selects. A part of it is the name of a member, which may lack the unit that it ends in
/// ("completion_time" for "completion_time_ps"); in an array a name takes the elements one of whose texts it is
/// ("ports.p0"), `[2]` an element by its index from 0 and `[*]` all. Empty where `[*]` stands for none. What is beneath
/// a null is null. Throws Error(kInput) naming the nearest member where there is none of the name.
/// `what`: the document, in errors.
std::vector<MetricValue> select_metric(const nlohmann::ordered_json& document, std::string_view path,
                                       std::string_view what = "the summary");

/// Throws Error(kInput) where a path is none.
void require_metric_path(std::string_view path);

}  // namespace rankwire
