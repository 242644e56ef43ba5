#include "converters/nccl.h"

#include "converters/nccl_inspector.h"
#include "converters/nccl_job.h"
#include "converters/nccl_log.h"
#include "proto/byte_stream.h"

namespace rankwire {
namespace {

/// Lines of logs begin with a host or a time, records with their object.
bool has_records(const std::string& path) {
  ByteStream bytes(path);
  bytes.skip_byte_order_mark();
  const std::string_view head = bytes.peek(1);
  const size_t first = head.find_first_not_of(" \t\r\n");
  return first != head.npos && head[first] == '{';
}

}  // namespace

Conversion convert_nccl(const std::vector<std::string>& files, const std::filesystem::path& folder,
                        ConversionProgress& progress, const FillOptions& options) {
  TraceFolder traces(folder);
  Conversion conversion{.prefix = traces.prefix()};
  NcclJob job;
  for (const std::string& file : files) {
    if (has_records(file)) {
      read_nccl_inspector(file, job, conversion);
    } else {
      read_nccl_log(file, job, conversion.warnings);
    }
  }
  if (job.empty() && !conversion.warnings.empty()) fail_input("no call is left: {}", conversion.warnings.front());
  if (job.empty()) {
    fail_input(
        "{}{}: no call of NCCL's: a log at NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,COLL has \"NCCL INFO "
        "AllReduce: opCount ...\", the inspector's records \"coll_perf\"",
        files.front(), files.size() > 1 ? " and others" : "");
  }
  job.write(conversion, progress, options);
  traces.keep();
  return conversion;
}

}  // namespace rankwire
