// `compare`: two run folders side by side.
#include <fmt/format.h>

#include "emulator/cli/commands.h"
#include "emulator/report/comparison.h"

namespace rankwire {

int compare_runs(const std::filesystem::path& base, const std::filesystem::path& other, OutputForm form,
                 std::optional<double> most) {
  const Comparison comparison = compare(RunReader(base), RunReader(other));
  if (form == OutputForm::kJson) {
    fmt::print("{}\n", comparison_json(comparison).dump(2));
  } else {
    fmt::print("{}", comparison_table(comparison));
  }
  if (!most) return 0;
  const std::optional<double> ratio = comparison.ratio();
  return ratio && *ratio <= *most ? 0 : 1;
}

}  // namespace rankwire
