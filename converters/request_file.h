// Requests as a CSV file has them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "converters/request_stream.h"

namespace rankwire {

/// The first `most` requests of a CSV file of three columns: the time of arrival, input tokens and output tokens,
/// with a first line of headings if none of its cells is a number; blanks around cells and a byte order mark count for
/// nothing. A time is a number of seconds, or a date and a time of day as in the traces of Azure's
/// services (AzurePublicDataset, AzureLLMInferenceTrace_*.csv: `TIMESTAMP,ContextTokens,GeneratedTokens`), such as
/// "2023-11-16 18:17:03.9799600" or "2024-05-10 00:00:00.009930+00:00". The first request arrives at 0, and the others
/// as much later as the file says, in whole microseconds. Throws Error(kInput) naming file and line for what is not
/// such a line, for less than 1 token and for a time that goes back.
std::vector<ServedRequest> read_requests(const std::string& file, size_t most);

}  // namespace rankwire
