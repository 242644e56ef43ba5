// What a second worker brings: ports that are driven apart, a link whose two ends are, and the way between them.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/affinity.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/histogram.h"
#include "base/message.h"
#include "dataplane/dpdk/port.h"
#include "emulator/engine/worker_transport.h"
#include "tests/bench/bench.h"
#include "tests/bench/transport_bench.h"

namespace rankwire::bench {
namespace {

using Work = std::function<void()>;

/// Does each of the works in a thread on a core of its own, over and over for about `kRunTime`, and returns the seconds
/// that it took.
double side_by_side(const std::vector<Work>& works, const std::vector<uint32_t>& cores) {
  std::atomic<uint32_t> ready{0};
  std::atomic<bool> go{false}, stop{false};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < works.size(); ++i) {
    threads.emplace_back([&, i] {
      const PinnedThread pinned(cores[i]);
      const DpdkThread registered;
      ready.fetch_add(1);
      while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
      while (!stop.load(std::memory_order_relaxed))
        for (int turn = 0; turn < 256; ++turn) works[i]();
    });
  }
  while (ready.load() < works.size()) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  go.store(true, std::memory_order_release);
  std::this_thread::sleep_for(kRunTime);
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Streams into ports that drop, of which each worker drives some.
double sum_of_ports(std::vector<std::unique_ptr<FramePort>>& ports, uint32_t mtu, size_t workers,
                    const std::vector<uint32_t>& cores) {
  std::vector<std::unique_ptr<StreamEnd>> streams;
  for (const auto& port : ports) streams.push_back(stream_into_nothing(*port, {.mtu = mtu}));
  std::vector<Work> works;
  for (size_t worker = 0; worker < workers; ++worker) {
    works.push_back([&streams, worker, workers] {
      for (size_t i = worker; i < streams.size(); i += workers) streams[i]->turn();
    });
  }
  for (const auto& stream : streams) stream->sent();
  const double seconds = side_by_side(works, cores);
  double sent = 0;
  for (const auto& stream : streams) sent += static_cast<double>(stream->sent()), stream->expect_clean();
  return sent / seconds;
}

/// Arithmetic without memory, a second: what the machine's cores give, whoever else is on them.
double arithmetic(size_t workers, const std::vector<uint32_t>& cores) {
  struct alignas(64) Sum {
    uint64_t steps = 0, value = 1;
  };
  std::vector<Sum> sums(workers);
  std::vector<Work> works;
  for (Sum& sum : sums)
    works.push_back([&sum] {
      uint64_t value = sum.value;
      for (int i = 0; i < 1000; ++i) value = mix64(value);
      sum.value = value, sum.steps += 1000;
    });
  const double seconds = side_by_side(works, cores);
  double steps = 0;
  for (const Sum& sum : sums) steps += static_cast<double>(sum.steps);
  return steps / seconds;
}

void print_ports(Dpdk& dpdk, uint32_t mtu, const std::vector<uint32_t>& cores) {
  std::vector<std::unique_ptr<FramePort>> ports;
  for (const char* device : {"net_null0", "net_null1"})
    ports.push_back(open_dpdk_port(dpdk.environment(), device, {.frames = 4095}));
  std::vector<double> one, two, ratios, limits;
  for (int i = 0; i < kRuns; ++i) {
    one.push_back(sum_of_ports(ports, mtu, 1, cores));
    two.push_back(sum_of_ports(ports, mtu, 2, cores));
    ratios.push_back(two.back() / one.back());
    const double alone = arithmetic(1, cores);
    limits.push_back(arithmetic(2, cores) / alone);
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  std::printf(
      "workers  MTU %4u, 2 net_null ports: %6.2f M data packets/s with one worker, %6.2f M/s with two; ratio %.2f "
      "(%.2f "
      ".. %.2f), arithmetic alone %.2f\n",
      mtu, median(one) / 1e6, median(two) / 1e6, median(ratios), least, most, median(limits));
  std::fflush(stdout);
}

/// With both ends on one core, or each on its own.
double around_link(FramePort& near, FramePort& far, size_t workers, const std::vector<uint32_t>& cores) {
  const Loop loop(near, far, {.lead = 7});
  const auto turns = [](StreamEnd& end) {
    for (int i = 0; i < 7; ++i) end.turn();
  };
  std::vector<Work> works;
  if (workers == 1) works = {[&] { turns(*loop.source), turns(*loop.destination); }};
  if (workers == 2) works = {[&] { turns(*loop.source); }, [&] { turns(*loop.destination); }};
  loop.source->sent();
  const double seconds = side_by_side(works, cores);
  const double rate = static_cast<double>(loop.source->sent()) / seconds;
  loop.source->expect_clean();
  loop.destination->expect_clean();
  return rate;
}

void print_link(Dpdk& dpdk, const std::vector<uint32_t>& cores) {
  auto [near, far] =
      make_ring_link(dpdk.environment(), "apart", {.queue_frames = 1024, .frames = 4095, .one_thread = false});
  std::vector<double> one, two, ratios;
  for (int i = 0; i < kRuns; ++i) {
    one.push_back(around_link(*near, *far, 1, cores));
    two.push_back(around_link(*near, *far, 2, cores));
    ratios.push_back(two.back() / one.back());
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  std::printf(
      "workers  MTU 1024, a net_ring link: %6.2f M data packets/s with both ends on one worker, %6.2f M/s with one "
      "each; ratio %.2f (%.2f .. %.2f)\n",
      median(one) / 1e6, median(two) / 1e6, median(ratios), least, most);
  std::fflush(stdout);
}

/// Has sent and delivered every message as soon as it is posted.
class PromptTransport final : public Transport {
 public:
  std::vector<EndPoint> prepare(const TransportPlan&) override { return {}; }
  std::vector<ConnectFailure> connect(std::span<const EndPoint>) override { return {}; }
  size_t post(Time now, std::span<const Message> messages) noexcept override {
    for (const Message& message : messages) {
      Event& event = events_[posted_++ % events_.size()];
      event.connection = message.connection, event.index = message.index, event.bytes = message.bytes;
      event.sent = {now, now, now, now};
    }
    return messages.size();
  }
  size_t poll(Time, std::span<Event> events) noexcept override {
    size_t n = 0;
    while (n < events.size() && reported_ < posted_) events[n++] = events_[reported_++ % events_.size()];
    return n;
  }
  Time next_event() const noexcept override { return Time::never(); }
  uint64_t activity() const noexcept override { return posted_; }
  TransportCounters counters() const override { return {}; }
  std::vector<FlowCounters> flows_of(ConnectionRange) const override { return {}; }
  std::vector<PortCounters> ports() const override { return {}; }
  std::string describe(ConnectionId) const override { return ""; }
  void close() noexcept override {}

 private:
  std::array<Event, 64> events_;
  uint64_t posted_ = 0, reported_ = 0;
};

/// One worker posts a message that the port of another one sends, hears of it, and posts the next.
void print_way(const std::vector<uint32_t>& cores) {
  const std::vector<WorkerRoute> routes{{.sender = 1, .receiver = 1, .source = 0, .destination = 1}};
  WorkerExchange exchange(2);
  WorkerTransport here(std::make_unique<PromptTransport>(), 0, routes, exchange);
  WorkerTransport there(std::make_unique<PromptTransport>(), 1, routes, exchange);
  RealClock clock;
  Histogram times;
  const Message message{.bytes = Bytes(1), .connection = ConnectionId(0)};
  Time posted = clock.now();
  here.post(posted, {&message, 1});
  std::array<Event, 64> events;
  const Work ask = [&] {
    const Time now = clock.now();
    if (here.poll(now, events) == 0) return;
    times.add(Duration((now - posted).ps / 2));
    posted = now;
    here.post(now, {&message, 1});
  };
  std::array<Event, 64> none;
  const Work answer = [&] { there.poll(clock.now(), none); };
  side_by_side({ask, answer}, cores);
  std::printf("workers  the way from one worker to another: P50 %.0f ns, P99 %.0f ns of %lu\n",
              static_cast<double>(times.quantile(0.5).ps) / 1e3, static_cast<double>(times.quantile(0.99).ps) / 1e3,
              times.count());
}

}  // namespace

void workers(Dpdk& dpdk) {
  const std::vector<uint32_t> cores = one_of_each_core(allowed_cpus());
  if (cores.size() < 2) {
    std::printf("workers  needs two cores\n");
    return;
  }
  for (const uint32_t mtu : {1024u, 4096u}) print_ports(dpdk, mtu, cores);
  print_link(dpdk, cores);
  print_way(cores);
}

}  // namespace rankwire::bench
