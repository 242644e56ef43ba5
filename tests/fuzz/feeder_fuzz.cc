// Any bytes as the file of a trace: the feeder says what is wrong with it, or hands out every node once, behind those
// that it depends on.
#include <google/protobuf/stubs/logging.h>

#include <set>
#include <string>

#include "base/error.h"
#include "feeder/trace_feeder.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/memory_file.h"

namespace rankwire {
namespace {

using fuzz::require;

void feed(const std::string& path, const FeederOptions& options, bool gives_back) {
  TraceFeeder feeder(path, options);
  std::set<uint64_t> done;
  for (auto node = feeder.next(); node != TraceFeeder::kNone; node = feeder.next()) {
    if (gives_back) {
      feeder.push_back(node);
      require(feeder.next() == node, "what is given back is the next again");
    }
    const TraceNode& it = feeder.lookup(node);
    for (const uint64_t parent : it.data_deps) {
      const bool dropped = options.missing == MissingNodes::kDrop;
      require(parent == it.id || dropped || done.contains(parent), "what a node depends on is complete before it");
    }
    require(done.insert(it.id).second, "a node is handed out once");
    feeder.complete(node);
  }
  require(feeder.finished(), "nothing is under way, so nothing is left");
  require(done.size() == feeder.nodes_read(), "every node is handed out");
}

}  // namespace
}  // namespace rankwire

// The first two bytes choose order, window and what becomes of missing nodes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rankwire;  // NOLINT: this is its main function
  static const google::protobuf::LogSilencer quiet;
  if (size < 2) return 0;
  FeederOptions options{.order = static_cast<FeedOrder>(data[0] % 6), .window = data[1] % 32 + 1u};
  options.missing = data[0] >= 128 ? MissingNodes::kDrop : MissingNodes::kError;
  const fuzz::MemoryFile file(fuzz::Input(data + 2, size - 2).rest());
  try {
    feed(file.path(), options, data[1] >= 128);
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::kInput, "it is the file that is wrong");
  }
  return 0;
}
