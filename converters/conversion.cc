#include "converters/conversion.h"

#include <system_error>

namespace rankwire {

void Conversion::add(NodeWriter& writer) {
  writer.close();
  counts += writer.counts();
  ++ranks;
}

void Conversion::write_groups(std::span<const ProcessGroup> definitions) {
  if (definitions.empty()) return;
  groups = prefix + ".json";
  write_groups_file(groups, definitions);
}

std::string trace_prefix(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail_run("{}: cannot make the folder: {}", folder.string(), error.message());
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("trace.")) {
      fail_input("{} is of an earlier conversion; remove it or choose another folder", entry.path().string());
    }
  }
  return (folder / "trace").string();
}

}  // namespace rankwire
