#include "emulator/cli/point_part.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace rankwire {
namespace {

constexpr uint32_t kMostParts = 100'000;

std::optional<uint32_t> number_of(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint32_t> variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : number_of(text);
}

/// Which of how many this process is, from 0.
struct TaskPlace {
  uint32_t index = 0, count = 1;
};

TaskPlace place_in_array() {
  const auto task = variable("SLURM_ARRAY_TASK_ID"), least = variable("SLURM_ARRAY_TASK_MIN");
  const auto count = variable("SLURM_ARRAY_TASK_COUNT");
  const uint32_t step = variable("SLURM_ARRAY_TASK_STEP").value_or(1);
  if (!task || !least || !count || step == 0 || *task < *least) return {};
  return {.index = (*task - *least) / step, .count = *count};
}

TaskPlace place_among_processes() {
  for (const auto& [rank, size] :
       {std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), std::pair("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
        std::pair("PMI_RANK", "PMI_SIZE")}) {
    const auto index = variable(rank), count = variable(size);
    if (index && count && *count > 1) return {.index = *index, .count = *count};
  }
  return {};
}

}  // namespace

PointPart parse_point_part(std::string_view text) {
  PointPart part;
  if (text == "auto") {
    const TaskPlace array = place_in_array(), process = place_among_processes();
    part.number = array.index * process.count + process.index + 1, part.of = array.count * process.count;
  } else {
    const size_t slash = text.find('/');
    const auto number = number_of(text.substr(0, slash));
    const auto of = slash == text.npos ? std::nullopt : number_of(text.substr(slash + 1));
    if (!number || !of) fail_input("--part {}: 'NUMBER/OF', such as 3/8, or 'auto' is expected", text);
    part.number = *number, part.of = *of;
  }
  if (part.of < 1 || part.of > kMostParts || part.number < 1 || part.number > part.of)
    fail_input("--part {}: part {} of {} is none of 1 to {}", text, part.number, part.of, part.of);
  return part;
}

}  // namespace rankwire
