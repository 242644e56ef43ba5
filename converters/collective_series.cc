#include "converters/collective_series.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "converters/node_writer.h"

namespace rankwire {
namespace {

constexpr const char* kWorld = "world";

chakra::CollectiveCommType kind_of(MeasuredCollective collective) {
  switch (collective) {
    case MeasuredCollective::kAllReduce:
      return chakra::ALL_REDUCE;
    case MeasuredCollective::kReduceScatter:
      return chakra::REDUCE_SCATTER;
    case MeasuredCollective::kBroadcast:
      return chakra::BROADCAST;
    case MeasuredCollective::kReduce:
      return chakra::REDUCE;
    case MeasuredCollective::kAllToAll:
    case MeasuredCollective::kAllToAllV:
      return chakra::ALL_TO_ALL;
    case MeasuredCollective::kGather:
      return chakra::GATHER;
    case MeasuredCollective::kScatter:
      return chakra::SCATTER;
    default:
      return chakra::ALL_GATHER;
  }
}

/// One rank's calls. `last_` is what the next one waits for.
class RankCalls {
 public:
  RankCalls(const CollectiveSeries& series, uint32_t rank, const NodeFile& file)
      : series_(series), of_(series.series), rank_(rank), nodes_(file) {}

  uint64_t write() {
    bool is_first = true;
    for (const MeasuredSize& size : measured_sizes(of_)) {
      if (!is_first) barrier();
      is_first = false;
      for (uint32_t i = 0; i < series_.warmup; ++i) call(size, measured_name(of_.collective, size.size, true, i));
      if (series_.warmup > 0) barrier();
      for (uint32_t i = 0; i < series_.iterations; ++i) {
        if (series_.barrier && i > 0) barrier();
        call(size, measured_name(of_.collective, size.size, false, i));
      }
    }
    return nodes_.close();
  }

 private:
  void barrier() { last_ = {nodes_.collective("barrier", chakra::BARRIER, kWorld, Bytes(0), last_)}; }

  void call(const MeasuredSize& size, const std::string& name) {
    switch (of_.collective) {
      case MeasuredCollective::kSendRecv:
        return exchange(name, (rank_ + 1) % of_.ranks, (rank_ + of_.ranks - 1) % of_.ranks, size.size);
      case MeasuredCollective::kHypercube:
        for (uint32_t distance = 1; distance < of_.ranks; distance *= 2) {
          const uint32_t partner = rank_ ^ distance;
          exchange(name, partner, partner, Bytes(size.size.count / of_.ranks * distance));
        }
        return;
      default:
        return collective(size, name);
    }
  }

  void exchange(const std::string& name, uint32_t to, uint32_t from, Bytes size) {
    const NodeWriter::Id sent = nodes_.send(name, rank_, to, 0, size, last_);
    const NodeWriter::Id received = nodes_.receive(name, from, rank_, 0, size, last_);
    last_ = {sent, received};
  }

  void collective(const MeasuredSize& size, const std::string& name) {
    const bool is_part =
        of_.collective == MeasuredCollective::kAllGather || of_.collective == MeasuredCollective::kGather;
    if (traits_of(of_.collective).rooted) nodes_.with("root", int64_t{series_.root});
    if (of_.collective == MeasuredCollective::kAllToAllV) nodes_.with("comm_splits", parts(size));
    const Bytes input = is_part ? Bytes(size.size.count / of_.ranks) : size.size;
    last_ = {nodes_.collective(name, kind_of(of_.collective), kWorld, input, last_)};
  }

  std::string parts(const MeasuredSize& size) const {
    std::vector<int64_t> parts;
    for (uint32_t to = 0; to < of_.ranks; ++to)
      parts.push_back(spread_part(of_, size.count, (to + of_.ranks - rank_) % of_.ranks).count);
    return fmt::format("[{}]", fmt::join(parts, ", "));
  }

  const CollectiveSeries& series_;
  const MeasuredSeries& of_;
  const uint32_t rank_;
  NodeWriter nodes_;
  std::vector<NodeWriter::Id> last_;
};

}  // namespace

void check_collective_series(const CollectiveSeries& series) {
  const MeasuredSeries& of = series.series;
  const MeasuredTraits& traits = traits_of(of.collective);
  check_positive(traits.name, {{"iterations", series.iterations}, {"min", of.smallest.count}});
  if (of.ranks < 2) fail_input("{}: ranks is {}; a collective has 2 or more", traits.name, of.ranks);
  if (of.factor < 2) fail_input("{}: factor is {}, must be at least 2", traits.name, of.factor);
  if (of.smallest > of.largest)
    fail_input("{}: min is {} B, which is above max, {} B", traits.name, of.smallest.count, of.largest.count);
  if (of.smallest.count % of.element.count != 0)
    fail_input("{}: min is {} B, not a whole number of elements of {} B", traits.name, of.smallest.count,
               of.element.count);
  if (traits.rooted && series.root >= of.ranks)
    fail_input("{}: root is {}, but there are ranks 0 to {}", traits.name, series.root, of.ranks - 1);
  if (of.collective == MeasuredCollective::kHypercube && !std::has_single_bit(of.ranks))
    fail_input("{}: ranks is {}, must be a power of two", traits.name, of.ranks);
  if (measured_sizes(of).empty())
    fail_input("{}: max is {} B; each of {} ranks has 16 B or more, so it must be at least {} B", traits.name,
               of.largest.count, of.ranks, 16 * int64_t{of.ranks});
}

GeneratedTraces generate_collective_series(const CollectiveSeries& series, const NodeFiles& set) {
  check_collective_series(series);
  GeneratedTraces traces{series.series.ranks, 0};
  for (uint32_t rank = 0; rank < traces.ranks; ++rank) traces.nodes += RankCalls(series, rank, set.file(rank)).write();
  std::vector<uint32_t> all(traces.ranks);
  std::iota(all.begin(), all.end(), 0u);
  write_group_file({{kWorld, all}}, set);
  return traces;
}

}  // namespace rankwire
