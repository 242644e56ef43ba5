#include "emulator/report/message_curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/sort_unique.h"

namespace rankwire {
namespace {

constexpr uint64_t kParts = 200;

/// ceil(numerator / denominator x count).
uint64_t place_of(uint64_t count, uint64_t numerator, uint64_t denominator) {
  const auto scaled = static_cast<unsigned __int128>(count) * numerator;
  return static_cast<uint64_t>((scaled + denominator - 1) / denominator);
}

/// Of equal times the last, which has the largest part.
void add_point(MessageCurve& curve, double part, Duration time) {
  if (!curve.points.empty() && curve.points.back().time == time)
    curve.points.back().part = part;
  else
    curve.points.push_back({part, time});
}

MessageCurve curve_of(const RecordedRun& run, const MessageTimes& times) {
  MessageCurve curve{.run = to_string(run.start.fidelity), .count = times.count};
  for (const auto& [place, time] : times.at)
    add_point(curve, static_cast<double>(place) / static_cast<double>(times.count), time);
  return curve;
}

MessageCurve curve_of(const RecordedRun& run, const std::vector<Histogram::Bucket>& buckets) {
  MessageCurve curve{.run = to_string(run.start.fidelity), .source = MessageCurve::Source::kHistogram};
  for (const Histogram::Bucket& bucket : buckets) curve.count += bucket.count;
  const std::vector<uint64_t> places = curve_places(curve.count);
  uint64_t seen = 0;
  for (auto place = places.begin(); const Histogram::Bucket& bucket : buckets) {
    seen += bucket.count;
    const auto behind = std::upper_bound(place, places.end(), seen);
    // All of a bucket took its upper bound at most.
    if (behind != place)
      add_point(curve, static_cast<double>(seen) / static_cast<double>(curve.count),
                std::min(bucket.high, run.latency->max));
    place = behind;
  }
  return curve;
}

MessageCurve curve_of(const RecordedRun& run, const MessageLatency& latency) {
  MessageCurve curve{
      .run = to_string(run.start.fidelity), .count = latency.count, .source = MessageCurve::Source::kQuantiles};
  for (const auto& [part, time] :
       {std::pair{0.5, latency.p50}, std::pair{0.95, latency.p95}, std::pair{0.99, latency.p99},
        std::pair{0.999, latency.p999}, std::pair{1.0, latency.max}})
    add_point(curve, part, time);
  return curve;
}

}  // namespace

std::vector<const RecordedRun*> compared_runs(const RunReader& record) {
  std::vector<const RecordedRun*> runs;
  for (const RecordedRun* run : {record.emulated(), record.reference()})
    if (run != nullptr) runs.push_back(run);
  for (const RecordedRun* run : record.models()) {
    if (run->start.fidelity == Fidelity::kTwin && std::ranges::find(runs, run) == runs.end()) {
      runs.push_back(run);
      break;
    }
  }
  return runs;
}

Duration MessageCurve::quantile(double part) const {
  // What rounding adds to a place over a count is no place more.
  const double wanted = part - 1e-12;
  const auto at = std::ranges::find_if(points, [&](const Point& point) { return point.part >= wanted; });
  return at == points.end() ? points.back().time : at->time;
}

std::vector<uint64_t> curve_places(uint64_t count) {
  std::vector<uint64_t> places;
  if (count <= kParts) {
    for (uint64_t place = 1; place <= count; ++place) places.push_back(place);
    return places;
  }
  places = {1, place_of(count, 999, 1000), place_of(count, 9999, 10000)};
  for (uint64_t part = 1; part <= kParts; ++part) places.push_back(place_of(count, part, kParts));
  sort_unique(places);
  return places;
}

std::vector<MessageCurves> message_curves(const RunReader& record) {
  MessageCurves together;
  std::map<std::string, MessageCurves> kinds;
  for (const RecordedRun* run : compared_runs(record)) {
    if (!run->latency || run->latency->count == 0) continue;
    const std::vector<MessageTimes> exact = record.message_times(*run, curve_places);
    for (const MessageTimes& times : exact) {
      MessageCurves& of = times.kind.empty() ? together : kinds[times.kind];
      of.kind = times.kind;
      of.runs.push_back(curve_of(*run, times));
    }
    if (!exact.empty()) continue;
    const std::vector<Histogram::Bucket> buckets = record.message_buckets(*run);
    together.runs.push_back(buckets.empty() ? curve_of(*run, *run->latency) : curve_of(*run, buckets));
  }
  std::vector<MessageCurves> list;
  if (!together.runs.empty()) list.push_back(std::move(together));
  // Of a single kind all messages are.
  if (kinds.size() > 1)
    for (auto& [kind, curves] : kinds) list.push_back(std::move(curves));
  return list;
}

}  // namespace rankwire
