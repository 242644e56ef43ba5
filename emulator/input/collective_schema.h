// The keys of `workload.generate.collective`.
#pragma once

#include <string>

#include "emulator/input/collective_config.h"
#include "emulator/input/syntax.h"

namespace rankwire {

inline Choice<MeasuredCollective> measured_names() {
  Choice<MeasuredCollective> names;
  for (const MeasuredTraits& traits : measured_collectives()) names.words.emplace_back(traits.name, traits.collective);
  return names;
}

inline Choice<std::string> measured_type_names() {
  Choice<std::string> names;
  for (const MeasuredType& type : measured_types()) names.words.emplace_back(type.name, type.name);
  return names;
}

inline Choice<std::string> measured_reduction_names() {
  Choice<std::string> names;
  for (const char* name : measured_reductions()) names.words.emplace_back(name, name);
  return names;
}

inline Choice<std::string> measured_average_names() {
  Choice<std::string> names;
  for (const char* name : measured_averages()) names.words.emplace_back(name, name);
  return names;
}

template <class Visitor>
void describe_collective_series(Visitor& visit, CollectiveSeriesConfig& series) {
  const Size size{Bytes(1), Bytes(1LL << 44)};
  visit.field("operation", series.operation, measured_names());
  visit.field("ranks", series.ranks, Integer<uint32_t>{2, 65'536});
  visit.field("min", series.smallest, size);
  visit.field("max", series.largest, size);
  visit.field("factor", series.factor, Integer<uint32_t>{2, 1'000'000});
  visit.field("step", series.step, Or{"none", size});
  visit.field("warmup", series.warmup, Integer<uint32_t>{0, 100'000});
  visit.field("iterations", series.iterations, Integer<uint32_t>{1, 100'000});
  visit.field("datatype", series.datatype, measured_type_names());
  visit.field("redop", series.redop, measured_reduction_names());
  visit.field("root", series.root, Integer<uint32_t>{0, 65'535});
  visit.field("spread", series.spread, Share{});
  visit.field("barrier", series.barrier, on_or_off());
  visit.field("average", series.average, measured_average_names());
}

}  // namespace rankwire
