#include "emulator/assembly/machine_stop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace rankwire {
namespace {

/// In front of answers to this question, rather than to one that was sent before a run.
constexpr const char* kQuestion = "signal";

}  // namespace

MachineStop::MachineStop(Machines& machines, const RunControl& control, std::chrono::milliseconds spared)
    : machines_(machines),
      control_(control),
      spared_(spared),
      stop_(control.interrupted.load()),
      own_{.interrupted = stop_,
           .watch = control.watch,
           .warn = control.warn,
           .asked = control.asked,
           .answer = control.answer,
           .look_on = control.look_on,
           .held = control.held,
           .stopped_by = [this] { return reason(); }} {
  for (uint32_t machine = 1; machine < machines.count(); ++machine)
    if (machines.is_present(machine)) present_.push_back(machine);
  machines.each_turn([this](MachinePost& post) { turn(post); });
}

MachineStop::~MachineStop() {
  machines_.each_turn(nullptr);
}

void MachineStop::turn(MachinePost& post) {
  if (stop_.load() || !control_.interrupted.load()) return;
  const auto now = MachinePost::Clock::now();
  if (!asked_) {
    asked_ = now;
    for (const uint32_t machine : present_) {
      if (post.is_gone(machine)) continue;  // which has brought no signal then
      silent_.push_back(machine);
      post.send(machine, MachineTag::kPing, kQuestion);
    }
  }
  std::erase_if(silent_, [&](uint32_t machine) {
    const auto answer = post.take_last(machine, MachineTag::kPong);
    return answer && answer->starts_with(kQuestion);
  });
  if (now - *asked_ >= spared_) late_ = true;
  if (silent_.empty() || late_.load()) stop_ = true;
}

std::string MachineStop::gone() const {
  std::vector<std::string> names;
  for (const uint32_t machine : present_)
    if (machines_.is_gone(machine)) names.push_back(fmt::format("'{}'", machines_.name(machine)));
  if (names.empty()) return "";
  return fmt::format("{} {}", names.size() == 1 ? "machine" : "machines", fmt::join(names, ", "));
}

std::string MachineStop::reason() const {
  const std::string gone_ones = gone();
  return gone_ones.empty() ? control_.stop_reason() : fmt::format("{}: {} has gone", control_.stop_reason(), gone_ones);
}

std::string MachineStop::finding(size_t members, size_t planned) const {
  std::string text = gone();
  const bool is_by_request = stop_.load() && !late_.load();
  if (text.empty() || is_by_request) return "";
  text += " has gone while models and the ensemble were simulated: nothing was heard of it any more; ";
  if (!stop_.load()) return text + "what it was to simulate of the reference was simulated without it";
  text +=
      fmt::format("a signal then left {:g} s for what it was to simulate", static_cast<double>(spared_.count()) / 1e3);
  if (members < planned) text += fmt::format("; the reference's band is of {} of {} members", members, planned);
  return text + "; jobs' times alone, the median run and what if may be missing";
}

}  // namespace rankwire
