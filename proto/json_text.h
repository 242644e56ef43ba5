// JSON files as simdjson takes them.
#pragma once

#include <simdjson.h>

#include <string>

#include "proto/byte_stream.h"

namespace rankwire {

/// The whole rest of `bytes`, which are the file of that path. Throws Error(kInput) naming the file when it cannot be
/// read or has 4 GiB and more, which simdjson cannot address.
simdjson::padded_string read_json_text(const std::string& path, ByteStream& bytes);
/// The whole file, plain, gzip or zstd.
simdjson::padded_string read_json_text(const std::string& path);

}  // namespace rankwire
