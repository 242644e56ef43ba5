#include "emulator/machines/machine_post.h"

#include <fmt/format.h>

namespace rankwire {
namespace {

constexpr char kInputFailure = 'i', kRunFailure = 'r';

Error failure_in(const std::string& bytes) {
  const bool of_input = !bytes.empty() && bytes.front() == kInputFailure;
  return {of_input ? ErrorKind::kInput : ErrorKind::kRun, bytes.empty() ? bytes : bytes.substr(1)};
}

}  // namespace

std::string failure_bytes(const Error& error) {
  return std::string(1, error.kind() == ErrorKind::kInput ? kInputFailure : kRunFailure) + error.what();
}

MachinePost::MachinePost(MachineLinks& links, MachinePatience patience)
    : links_(links), patience_(patience), others_(links.count()), told_(Clock::now()) {
  for (uint32_t machine = 0; machine < count(); ++machine) {
    others_[machine].heard = told_;
    others_[machine].watched = machine != own() && (leads() || machine == 0);
  }
}

void MachinePost::send_all(MachineTag tag, std::string_view bytes) {
  for (uint32_t machine = 0; machine < count(); ++machine)
    if (machine != own()) send(machine, tag, bytes);
}

void MachinePost::turn(Clock::time_point now) {
  while (std::optional<MachineMessage> message = links_.receive()) take_in(std::move(*message), now);
  if (now - told_ >= patience_.presence) {
    told_ = now;
    for (uint32_t machine = 0; machine < count(); ++machine)
      if (others_[machine].watched && !others_[machine].gone) send(machine, MachineTag::kPresence, {});
  }
  for (Other& other : others_) other.gone = other.gone || (other.watched && now - other.heard > patience_.silence);
}

void MachinePost::take_in(MachineMessage message, Clock::time_point now) {
  Other& other = others_[message.from];
  other.heard = now;
  switch (message.tag) {
    case MachineTag::kPresence:
      return;
    case MachineTag::kFailure:
      if (!other.failure) other.failure = failure_in(message.bytes);
      return;
    case MachineTag::kQuick:
      quick_ = true;
      return;
    case MachineTag::kCalm:
      quick_ = false;
      return;
    case MachineTag::kPing:
      // Behind what was asked, so that who asks knows which of its questions this answers.
      send(message.from, MachineTag::kPong,
           fmt::format("{} {}", message.bytes, Clock::now().time_since_epoch().count()));
      return;
    default:
      arrived_[{message.from, message.tag}].push_back(std::move(message.bytes));
  }
}

std::optional<std::string> MachinePost::take(uint32_t from, MachineTag tag) {
  std::deque<std::string>& waiting = arrived_[{from, tag}];
  if (waiting.empty()) return std::nullopt;
  std::string bytes = std::move(waiting.front());
  waiting.pop_front();
  return bytes;
}

std::optional<std::string> MachinePost::take_last(uint32_t from, MachineTag tag) {
  std::optional<std::string> newest;
  while (std::optional<std::string> next = take(from, tag)) newest = std::move(next);
  return newest;
}

}  // namespace rankwire
