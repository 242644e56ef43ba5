#include "dataplane/congestion/dcqcn.h"

#include <algorithm>
#include <cmath>

namespace rankwire {
namespace {

constexpr double kAlphaUnit = 1024;

double bits(Bandwidth rate) {
  return static_cast<double>(rate.bits_per_second);
}

/// Periods that have ended by `now` when the next one ends at `due`.
int64_t periods(Time due, Time now, Duration period) {
  return due > now ? 0 : (now - due).ps / period.ps + 1;
}

DcqcnOptions paper_preset() {
  DcqcnOptions options;
  options.clamp_tgt_rate = true;
  options.time_reset = options.dce_tcp_rtt = microseconds(55);
  options.byte_reset = Bytes(10'000'000);
  options.threshold = 5;
  options.ai_rate = Bandwidth(40'000'000);
  options.hai_rate = Bandwidth(200'000'000);
  options.min_dec_fac = 0;
  options.dce_tcp_g = 1020;  // g = 1/256
  options.rate_reduce_monitor_period = Duration();
  options.initial_alpha_value = 1024;
  return options;
}

DcqcnOptions hpcc_preset(Bandwidth line) {
  DcqcnOptions options;
  options.byte_reset = Bytes(0);
  options.ai_rate = Bandwidth(line.bits_per_second / 5'000);  // 5 Mb/s at 25 Gb/s
  options.hai_rate = Bandwidth(line.bits_per_second / 500);
  options.min_rate = std::min(Bandwidth(1'000'000'000), line);
  options.min_dec_fac = 0;
  options.dce_tcp_g = 1020;
  options.initial_alpha_value = 1024;
  return options;
}

// What the simulator's variants without and with windows share.
DcqcnOptions hpcc_paper_preset(Bandwidth line) {
  DcqcnOptions options = hpcc_preset(line);
  options.dce_tcp_rtt = options.rate_reduce_monitor_period = microseconds(50);
  options.time_reset = microseconds(55);
  return options;
}

DcqcnOptions with_window(DcqcnOptions options) {
  options.window = microseconds(13);  // run.py: "RTT=13us"
  return options;
}

}  // namespace

DcqcnOptions dcqcn_preset(DcqcnPreset preset, Bandwidth line) {
  switch (preset) {
    case DcqcnPreset::kMlx5:
      break;
    case DcqcnPreset::kPaper:
      return paper_preset();
    case DcqcnPreset::kHpcc:
      return hpcc_preset(line);
    case DcqcnPreset::kHpccPaper:
      return hpcc_paper_preset(line);
    case DcqcnPreset::kHpccWindow:
      return with_window(hpcc_preset(line));
    case DcqcnPreset::kHpccPaperWindow:
      return with_window(hpcc_paper_preset(line));
  }
  return {};
}

Dcqcn::Dcqcn(const DcqcnOptions& options, std::span<const Bandwidth> lines)
    : options_(options),
      keep_(options.dce_tcp_g / kAlphaUnit),
      factor_(std::exp2(10.0 - options.gd)),
      flows_(lines.size()) {
  for (size_t i = 0; i < lines.size(); ++i) {
    Flow& flow = flows_[i];
    const bool limited = options.max_rate > Bandwidth() && options.max_rate < lines[i];
    flow.current = flow.target = flow.most = bits(limited ? options.max_rate : lines[i]);
    flow.alpha = options.initial_alpha_value / kAlphaUnit;
  }
}

void Dcqcn::notified(uint32_t queue_pair, Time now) noexcept {
  Flow& flow = flows_[queue_pair];
  const bool first = flow.first == Time::never();
  if (first) {
    start(flow, now);
  } else {
    advance(flow, now);
  }
  const Duration period = options_.rate_reduce_monitor_period;
  if (period == Duration()) {
    cut(flow, now);
    flow.alpha = keep_ * flow.alpha + (1 - keep_);
    flow.alpha_due = now + options_.dce_tcp_rtt;
    return;
  }
  // Alpha begins with what a CNP makes of it: the first counts for the cut alone.
  if (!first) flow.marked = true;
  if (flow.cut_due == Time::never()) flow.cut_due = flow.first + period * ((now - flow.first).ps / period.ps + 1);
}

void Dcqcn::start(Flow& flow, Time now) const noexcept {
  flow.first = now;
  flow.alpha_due = now + options_.dce_tcp_rtt;
  if (options_.rate_to_set_on_first_cnp > Bandwidth())
    flow.current = flow.target = std::min(bits(options_.rate_to_set_on_first_cnp), flow.most);
}

void Dcqcn::sent(uint32_t queue_pair, Time now, Bytes on_line) noexcept {
  Flow& flow = flows_[queue_pair];
  if (options_.byte_reset == Bytes() || flow.increase_due == Time::never()) return;
  advance(flow, now);
  flow.counted += on_line.count;
  for (; flow.counted >= options_.byte_reset.count; flow.counted -= options_.byte_reset.count)
    increase(flow, flow.by_bytes);
}

Allowance Dcqcn::allowance(uint32_t queue_pair, Time now) noexcept {
  Flow& flow = flows_[queue_pair];
  advance(flow, now);
  Allowance allowance{.rate = Bandwidth(std::llround(flow.current))};
  // bit/s x ps / 8e12 = bytes
  if (options_.window > Duration())
    allowance.window = Bytes(std::llround(flow.current * static_cast<double>(options_.window.ps) / 8e12));
  return allowance;
}

Time Dcqcn::next_update(uint32_t queue_pair) const noexcept {
  const Flow& flow = flows_[queue_pair];
  return flow.current < flow.most ? std::min(flow.cut_due, flow.increase_due) : flow.cut_due;
}

void Dcqcn::advance(Flow& flow, Time now) const noexcept {
  while (std::min(flow.cut_due, flow.increase_due) <= now) {
    if (flow.cut_due <= flow.increase_due) {
      cut(flow, flow.cut_due);
    } else {
      run_timer(flow, std::min(now, flow.cut_due - Duration(1)));
    }
  }
  update_alpha(flow, now);
}

void Dcqcn::update_alpha(Flow& flow, Time now) const noexcept {
  const int64_t ended = periods(flow.alpha_due, now, options_.dce_tcp_rtt);
  if (ended == 0) return;
  flow.alpha = keep_ * flow.alpha + (flow.marked ? 1 - keep_ : 0);
  if (ended > 1) flow.alpha *= std::pow(keep_, static_cast<double>(ended - 1));
  flow.marked = false;
  flow.alpha_due += options_.dce_tcp_rtt * ended;
}

void Dcqcn::cut(Flow& flow, Time at) const noexcept {
  update_alpha(flow, at);
  const bool raised = flow.by_bytes > 0 || (options_.clamp_tgt_rate_ati && flow.by_time > 0);
  if (options_.clamp_tgt_rate || raised) flow.target = flow.current;
  const double left = std::max(1 - flow.alpha * factor_, options_.min_dec_fac / 100.0);
  flow.current = std::max(flow.current * left, std::min(flow.current, bits(options_.min_rate)));
  flow.by_bytes = flow.by_time = 0;
  flow.counted = 0;
  flow.cut_due = Time::never();
  flow.increase_due = at + options_.time_reset;
}

// One increase by the timer; at full rate, where they change nothing but their count, all until `now`.
void Dcqcn::run_timer(Flow& flow, Time now) const noexcept {
  if (flow.current < flow.most) {
    increase(flow, flow.by_time);
    flow.increase_due += options_.time_reset;
    return;
  }
  const int64_t ended = periods(flow.increase_due, now, options_.time_reset);
  flow.by_time = static_cast<uint32_t>(std::min<int64_t>(flow.by_time + ended, INT32_MAX));
  flow.increase_due += options_.time_reset * ended;
}

void Dcqcn::increase(Flow& flow, uint32_t& counter) const noexcept {
  ++counter;
  flow.target = std::min(flow.target + raise_of_target(flow), flow.most);
  flow.current = (flow.current + flow.target) / 2;
  // Halving a distance never ends.
  if (flow.most - flow.current < 1) flow.current = flow.most;
}

double Dcqcn::raise_of_target(const Flow& flow) const noexcept {
  const uint32_t threshold = options_.threshold;
  if (options_.byte_reset == Bytes()) {
    const uint32_t stage = flow.by_time - 1;
    if (stage < threshold) return 0;
    return bits(stage == threshold ? options_.ai_rate : options_.hai_rate);
  }
  if (std::max(flow.by_bytes, flow.by_time) < threshold) return 0;
  const uint32_t both = std::min(flow.by_bytes, flow.by_time);
  return both > threshold ? (both - threshold) * bits(options_.hai_rate) : bits(options_.ai_rate);
}

}  // namespace rankwire
