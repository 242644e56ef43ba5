// Any bytes as one of ASTRA-sim's own files: read or refused. The first byte chooses which: network, system or memory,
// the network as a fabric, or communicator groups.
#include "base/error.h"
#include "emulator/input/astra_files.h"
#include "emulator/input/fabric_astra.h"
#include "emulator/workload/process_groups.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/memory_file.h"

namespace rankwire {
namespace {

using fuzz::require;

AstraNetwork two_dimensions() {
  const AstraDimension ring{.block = AstraBlock::kRing, .npus = 4, .bandwidth = 50, .latency = 500};
  return {.dimensions = {ring, ring}};
}

void read(uint8_t kind, const std::string& path) {
  Warnings warnings;
  switch (kind % 5) {
    case 0:
      for (const AstraDimension& dimension : read_astra_network(path, warnings).dimensions) {
        require(dimension.npus > 0 && dimension.bandwidth > 0 && dimension.latency >= 0, "a dimension has its values");
      }
      break;
    case 1:
      read_astra_system(path, two_dimensions(), warnings);
      break;
    case 2:
      read_astra_memory(path, warnings);
      break;
    case 3:
      require(!read_astra_network(std::filesystem::path(path)).empty(), "a fabric has dimensions");
      break;
    default:
      for (const GroupDefinition& group : read_groups_file(path)) require(!group.ranks.empty(), "a group has ranks");
  }
}

}  // namespace
}  // namespace rankwire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  if (size == 0) return 0;
  const fuzz::MemoryFile file({data + 1, size - 1});
  try {
    read(data[0], file.path());
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kInput, "it is the file that is wrong");
  }
  return 0;
}
