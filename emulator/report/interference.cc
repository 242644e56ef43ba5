#include "emulator/report/interference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "emulator/record/reader.h"
#include "emulator/record/reference_band.h"
#include "emulator/report/assessment.h"
#include "emulator/report/format.h"

namespace rankwire {
namespace {

using InterferenceJson = nlohmann::ordered_json;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// "point-2: failed: a reason".
std::string ending_of(const InterferenceRun& run) {
  return fmt::format("{}: {}: {}", run.point.folder, run.point.verdict, first_line(run.point.reason));
}

std::string names_of(const Interference& interference, const InterferenceRun& run) {
  std::vector<std::string> names;
  for (const uint32_t job : run.jobs) names.push_back(interference.jobs[job]);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Calls `each(matrix, victim, aggressor, cell)` for all cells there are, row by row; `aggressor` is absent of the
/// column of all others.
template <class Each>
void for_each_cell(const Interference& interference, Each each) {
  const auto jobs = static_cast<uint32_t>(interference.jobs.size());
  for (const InterferenceMatrix& matrix : interference_matrices(interference)) {
    for (uint32_t victim = 0; victim < jobs; ++victim) {
      for (uint32_t aggressor = 0; matrix.has_pairs() && aggressor < jobs; ++aggressor) {
        if (aggressor != victim)
          each(matrix, victim, std::optional<uint32_t>(aggressor), matrix.beside(victim, aggressor));
      }
      if (matrix.has_all()) each(matrix, victim, std::optional<uint32_t>(), matrix.beside_all(victim));
    }
  }
}

std::string factor_text(const InterferenceCell& cell) {
  return cell.factor ? readable_ratio(cell.factor) : "?";
}

std::string matrix_text(const Interference& interference, const InterferenceMatrix& matrix) {
  const auto jobs = static_cast<uint32_t>(interference.jobs.size());
  std::vector<std::vector<std::string>> rows{{matrix.side(), "alone"}};
  if (matrix.has_pairs()) rows[0].insert(rows[0].end(), interference.jobs.begin(), interference.jobs.end());
  if (matrix.has_all()) rows[0].push_back("all others");
  for (uint32_t victim = 0; victim < jobs; ++victim) {
    const std::optional<Duration> alone = matrix.alone(victim);
    std::vector<std::string>& row =
        rows.emplace_back(std::vector<std::string>{interference.jobs[victim], alone ? readable(*alone) : "?"});
    for (uint32_t aggressor = 0; matrix.has_pairs() && aggressor < jobs; ++aggressor)
      row.push_back(aggressor == victim ? "-" : factor_text(matrix.beside(victim, aggressor)));
    if (matrix.has_all()) row.push_back(factor_text(matrix.beside_all(victim)));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      size_t width = 0;
      for (const std::vector<std::string>& other : rows) width = std::max(width, other[i].size());
      text += i == 0 ? fmt::format("  {:<{}}", row[i], width) : fmt::format("  {:>{}}", row[i], width);
    }
    text += '\n';
  }
  return text;
}

std::string picoseconds(const std::optional<Duration>& duration) {
  return duration ? fmt::to_string(duration->ps) : std::string();
}

}  // namespace

std::vector<std::vector<uint32_t>> interference_sets(uint32_t jobs, bool pairs) {
  std::vector<std::vector<uint32_t>> sets(1);
  for (uint32_t job = 0; job < jobs; ++job) sets[0].push_back(job);
  for (uint32_t job = 0; job < jobs; ++job) sets.push_back({job});
  for (uint32_t first = 0; pairs && jobs > 2 && first < jobs; ++first)
    for (uint32_t second = first + 1; second < jobs; ++second) sets.push_back({first, second});
  return sets;
}

bool InterferenceRun::has(uint32_t job) const {
  return std::ranges::binary_search(jobs, job);
}

void read_interference_run(InterferenceRun& run, const std::vector<uint32_t>& numbers,
                           const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "run.sqlite")) return;
  try {
    const RunReader record(folder);
    run.fidelity = assess_fidelity(record).fidelity;
    for (const RecordedRun& recorded : record.runs()) {
      if (is_replaced(record, recorded)) continue;
      InterferenceRun::Side& side = run.sides.emplace_back(InterferenceRun::Side{
          sweep_side_name(record, recorded), std::vector<std::optional<Duration>>(run.jobs.size())});
      if (!recorded.ended || recorded.end.verdict != "ok") continue;
      for (size_t i = 0; i < run.jobs.size(); ++i) {
        const uint32_t number = numbers[run.jobs[i]];
        if (number < recorded.end.jobs.size()) side.completion[i] = recorded.end.jobs[number].completion();
      }
    }
  } catch (const Error&) {  // The point says already that its record cannot be read.
  }
}

InterferenceMatrix::InterferenceMatrix(const Interference& interference, std::string side)
    : interference_(interference), side_(std::move(side)) {}

std::optional<Duration> InterferenceMatrix::alone(uint32_t victim) const {
  const auto run = std::ranges::find(interference_.runs, std::vector{victim}, &InterferenceRun::jobs);
  return run == interference_.runs.end() ? std::nullopt : cell(victim, &*run).completion;
}

InterferenceCell InterferenceMatrix::beside(uint32_t victim, uint32_t aggressor) const {
  const std::vector pair{std::min(victim, aggressor), std::max(victim, aggressor)};
  const auto run = std::ranges::find(interference_.runs, pair, &InterferenceRun::jobs);
  return cell(victim, run == interference_.runs.end() ? nullptr : &*run);
}

InterferenceCell InterferenceMatrix::beside_all(uint32_t victim) const {
  const auto run = std::ranges::find(interference_.runs, interference_.jobs.size(),
                                     [](const InterferenceRun& of) { return of.jobs.size(); });
  return cell(victim, run == interference_.runs.end() ? nullptr : &*run);
}

bool InterferenceMatrix::has_pairs() const {
  return std::ranges::count(interference_.runs, 2u, [](const InterferenceRun& run) { return run.jobs.size(); }) > 0;
}

InterferenceCell InterferenceMatrix::cell(uint32_t victim, const InterferenceRun* run) const {
  InterferenceCell cell{.run = run, .completion = {}, .alone = {}, .factor = {}, .missing = {}};
  const auto completion_in = [&](const InterferenceRun& of) -> std::optional<Duration> {
    const auto side = std::ranges::find(of.sides, side_, &InterferenceRun::Side::run);
    if (side == of.sides.end()) return std::nullopt;
    return side->completion[static_cast<size_t>(std::ranges::find(of.jobs, victim) - of.jobs.begin())];
  };
  if (run == nullptr) return cell.missing = "no such run", cell;
  cell.completion = completion_in(*run);
  const auto alone = std::ranges::find(interference_.runs, std::vector{victim}, &InterferenceRun::jobs);
  if (alone != interference_.runs.end()) cell.alone = completion_in(*alone);
  if (!cell.completion) {
    cell.missing = ending_of(*run);
  } else if (!cell.alone) {
    cell.missing = alone == interference_.runs.end() ? "no run alone" : "alone, " + ending_of(*alone);
  } else {
    cell.factor = ratio_of(*cell.completion, *cell.alone);
    if (!cell.factor) cell.missing = "it takes no time alone, which has no multiple";
  }
  return cell;
}

std::vector<InterferenceMatrix> interference_matrices(const Interference& interference) {
  std::vector<InterferenceMatrix> matrices;
  for (const InterferenceRun& run : interference.runs) {
    for (const InterferenceRun::Side& side : run.sides) {
      if (std::ranges::find(matrices, side.run, &InterferenceMatrix::side) == matrices.end())
        matrices.emplace_back(interference, side.run);
    }
  }
  if (matrices.empty()) matrices.emplace_back(interference, "-");
  return matrices;
}

int exit_status(const Interference& interference) {
  int status = 0;
  for (const InterferenceRun& run : interference.runs) status = worse_status(status, exit_status(run.point.verdict));
  return status;
}

std::vector<std::string> doubtful_runs(const Interference& interference) {
  std::vector<std::string> lines;
  for (const InterferenceRun& run : interference.runs) {
    const std::string whose = fmt::format("{} ({})", run.point.folder, names_of(interference, run));
    if (!passes(run.point.verdict))
      lines.push_back(fmt::format("{}: {}: {}", whose, run.point.verdict, first_line(run.point.reason)));
    if (run.fidelity == "generator_limited")
      lines.push_back(whose + ": the generator, not the device, set the pace; its summary says why");
  }
  return lines;
}

std::vector<std::string> jobs_without_factors(const Interference& interference) {
  std::vector<std::string> lines;
  for (const InterferenceMatrix& matrix : interference_matrices(interference)) {
    for (uint32_t victim = 0; victim < interference.jobs.size(); ++victim) {
      if (matrix.alone(victim) != Duration(0)) continue;
      lines.push_back(fmt::format("{}: no factors of {}: it takes no time alone, which has no multiple", matrix.side(),
                                  interference.jobs[victim]));
    }
  }
  return lines;
}

nlohmann::ordered_json interference_json(const Interference& interference) {
  InterferenceJson json{{"name", interference.name},
                        {"jobs", interference.jobs},
                        {"runs", InterferenceJson::array()},
                        {"cells", InterferenceJson::array()}};
  for (const InterferenceRun& run : interference.runs) {
    InterferenceJson& item = json["runs"].emplace_back(InterferenceJson{{"folder", run.point.folder},
                                                                        {"jobs", InterferenceJson::array()},
                                                                        {"verdict", run.point.verdict},
                                                                        {"reason", run.point.reason},
                                                                        {"fidelity", nullptr}});
    for (const uint32_t job : run.jobs) item["jobs"].push_back(interference.jobs[job]);
    if (!run.fidelity.empty()) item["fidelity"] = run.fidelity;
  }
  for_each_cell(interference, [&](const InterferenceMatrix& matrix, uint32_t victim, std::optional<uint32_t> aggressor,
                                  const InterferenceCell& cell) {
    const auto number = [](const std::optional<Duration>& duration) {
      return duration ? InterferenceJson(duration->ps) : InterferenceJson(nullptr);
    };
    json["cells"].push_back(
        {{"run", matrix.side()},
         {"victim", interference.jobs[victim]},
         {"aggressor", aggressor ? InterferenceJson(interference.jobs[*aggressor]) : InterferenceJson(nullptr)},
         {"completion_time_ps", number(cell.completion)},
         {"alone_ps", number(cell.alone)},
         {"interference", cell.factor ? InterferenceJson(*cell.factor) : InterferenceJson(nullptr)},
         {"folder", cell.run != nullptr ? InterferenceJson(cell.run->point.folder) : InterferenceJson(nullptr)},
         {"missing", cell.missing.empty() ? InterferenceJson(nullptr) : InterferenceJson(cell.missing)}});
  });
  return json;
}

std::string interference_csv(const Interference& interference) {
  std::string csv = "run,victim,aggressor,jct_ps,alone_ps,interference,folder,missing\n";
  for_each_cell(interference, [&](const InterferenceMatrix& matrix, uint32_t victim, std::optional<uint32_t> aggressor,
                                  const InterferenceCell& cell) {
    csv += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(matrix.side()), csv_field(interference.jobs[victim]),
                       aggressor ? csv_field(interference.jobs[*aggressor]) : "", picoseconds(cell.completion),
                       picoseconds(cell.alone), cell.factor ? fmt::to_string(*cell.factor) : "",
                       cell.run != nullptr ? csv_field(cell.run->point.folder) : "", csv_field(cell.missing));
  });
  return csv;
}

std::string interference_text(const Interference& interference) {
  std::string text = fmt::format(
      "{}: how many times its completion time alone a job takes (rows) beside another (columns)\n", interference.name);
  for (const InterferenceMatrix& matrix : interference_matrices(interference))
    text += "\n" + matrix_text(interference, matrix);
  std::vector<std::string> lines = jobs_without_factors(interference);
  std::ranges::move(doubtful_runs(interference), std::back_inserter(lines));
  if (!lines.empty()) text += "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace rankwire
