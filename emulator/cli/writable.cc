#include "emulator/cli/writable.h"

#include "base/error.h"
#include "emulator/report/output_file.h"

namespace rankwire {

void require_writable(const std::filesystem::path& file) {
  try {
    const OutputFile removed_at_once(file);
  } catch (const Error& error) {
    fail_input("{}", error.what());
  }
}

}  // namespace rankwire
