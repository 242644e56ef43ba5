// A simulator of one rank in one page: an accelerator and a network that each do one thing at a time, for as long as
// the trace says. It shows all calls of TraceFeeder.
//
//   replay trace.0.et [minimum_id | file_order | start_time | per_stream | per_group | communication_first]
#include <cstdio>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "base/error.h"
#include "feeder/trace_feeder.h"

namespace {

using rankwire::TraceFeeder;
using rankwire::TraceNode;
namespace chakra = rankwire::chakra;

enum Resource { kAccelerator, kNetwork, kResources };

Resource resource_of(const TraceNode& node) {
  const bool communicates = node.type >= chakra::COMM_SEND_NODE && node.type <= chakra::COMM_COLL_NODE;
  return communicates ? kNetwork : kAccelerator;
}

struct Running {
  int64_t end_ps = 0;
  TraceFeeder::Handle node = TraceFeeder::kNone;
  friend bool operator>(const Running& a, const Running& b) {
    return a.end_ps != b.end_ps ? a.end_ps > b.end_ps : a.node > b.node;
  }
};

/// Starts every ready node whose resource is free; the others are ready again.
void start_ready(TraceFeeder& feeder, int64_t now_ps, std::vector<bool>& busy,
                 std::priority_queue<Running, std::vector<Running>, std::greater<>>& running) {
  std::vector<TraceFeeder::Handle> refused;
  for (auto handle = feeder.next(); handle != TraceFeeder::kNone; handle = feeder.next()) {
    const TraceNode& node = feeder.lookup(handle);
    const Resource resource = resource_of(node);
    if (busy[resource]) {
      refused.push_back(handle);
      continue;
    }
    busy[resource] = true;
    running.push({now_ps + node.unit.ps * static_cast<int64_t>(node.duration), handle});
  }
  for (const TraceFeeder::Handle handle : refused) feeder.push_back(handle);
}

int replay(const std::string& path, rankwire::FeedOrder order) {
  TraceFeeder feeder(path, {.order = order});
  std::vector<bool> busy(kResources, false);
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  int64_t now_ps = 0;
  start_ready(feeder, now_ps, busy, running);
  while (!running.empty()) {
    const Running first = running.top();
    running.pop();
    now_ps = first.end_ps;
    busy[resource_of(feeder.lookup(first.node))] = false;
    feeder.complete(first.node);
    start_ready(feeder, now_ps, busy, running);
  }
  std::printf("%llu nodes in %.3f us, at most %zu in memory\n", static_cast<unsigned long long>(feeder.nodes_read()),
              static_cast<double>(now_ps) / 1e6, feeder.most_live());
  return feeder.finished() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const auto order = rankwire::parse_feed_order(count > 2 ? arguments[2] : "minimum_id");
  if (count < 2 || count > 3 || !order) {
    std::fprintf(stderr, "usage: replay TRACE [ORDER]\n");
    return 2;
  }
  try {
    return replay(arguments[1], *order);
  } catch (const rankwire::Error& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return error.kind() == rankwire::ErrorKind::kInput ? 2 : 1;
  }
}
