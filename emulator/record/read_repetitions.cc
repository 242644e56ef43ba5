// RunReader's view of the emulated runs of a configuration that is repeated.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "emulator/record/columns.h"
#include "emulator/record/reader.h"
#include "emulator/record/record_version.h"

namespace rankwire {
namespace {

/// Of at least one repetition: the one that stands for all.
const RecordedRun* representative(const std::vector<RecordedRun>& repetitions) {
  std::vector<const RecordedRun*> good;
  for (const RecordedRun& run : repetitions) {
    // One that ended by an error has measured nothing.
    const bool has_failed = run.end.verdict == "failed" || run.end.verdict == "stalled";
    if (has_failed && !run.end.per_rank.empty()) return &run;
    if (run.end.verdict == "ok") good.push_back(&run);
  }
  if (good.empty()) return &repetitions.front();
  std::ranges::stable_sort(good, {}, [](const RecordedRun* run) { return run->end.completion; });
  return good[(good.size() - 1) / 2];
}

}  // namespace

/// One of them stays among the runs, where the first one was.
void RunReader::take_repetitions() {
  if (!has_table("repetitions")) return;
  Statement rows = database_.prepare("SELECT repetition, planned FROM repetitions WHERE run=?");
  std::vector<RecordedRun> others;
  size_t place = 0;
  for (RecordedRun& run : runs_) {
    rows.reset();
    rows.bind(run.run);
    if (!rows.step()) {
      others.push_back(std::move(run));
      continue;
    }
    if (repetitions_.empty()) place = others.size();
    run.start.repetition = {.number = small(rows, 0), .planned = small(rows, 1)};
    repetitions_.push_back(std::move(run));
  }
  runs_ = std::move(others);
  if (repetitions_.empty()) return;
  runs_.insert(runs_.begin() + static_cast<std::ptrdiff_t>(place), *representative(repetitions_));
}

bool RunReader::at_work() const {
  return std::ranges::any_of(runs_, &RecordedRun::at_work) || std::ranges::any_of(repetitions_, &RecordedRun::at_work);
}

uint32_t RunReader::shown() const {
  return repetitions_.empty() ? 0 : emulated_->start.repetition.number;
}

void RunReader::show(uint32_t repetition) {
  const auto wanted =
      std::ranges::find(repetitions_, repetition, [](const RecordedRun& run) { return run.start.repetition.number; });
  if (wanted == repetitions_.end())
    fail_input("{}: there is no repetition {}; the record has {}", folder_.string(), repetition,
               repetitions_.empty() ? std::string("none") : fmt::format("1 to {}", repetitions_.size()));
  runs_[static_cast<size_t>(emulated_ - runs_.data())] = *wanted;
}

void RunReader::read_warnings() {
  if (std::string text = absence_text(database_); !text.empty()) warnings_.push_back(std::move(text));
  Statement warnings = database_.prepare("SELECT warning >> 32, text FROM warnings ORDER BY warning");
  while (warnings.step()) {
    const bool is_of_repetition =
        std::ranges::find(repetitions_, small(warnings, 0), &RecordedRun::run) != repetitions_.end();
    if (!is_of_repetition || small(warnings, 0) == emulated_->run) warnings_.push_back(warnings.text(1));
  }
}

}  // namespace rankwire
