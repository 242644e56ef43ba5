#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/printable.h"

namespace rankwire {

void configure_log(Verbosity verbosity) {
  auto logger = spdlog::get("rankwire");
  if (!logger) logger = spdlog::stderr_color_st("rankwire");
  logger->set_pattern("%^%l:%$ %v");
  logger->set_level(verbosity == Verbosity::kQuiet ? spdlog::level::err : spdlog::level::info);
  spdlog::set_default_logger(logger);
}

Verbosity log_verbosity() {
  return spdlog::should_log(spdlog::level::info) ? Verbosity::kNormal : Verbosity::kQuiet;
}

void log_warning(std::string_view text) {
  spdlog::warn("{}", printable_line(text));
}
void log_error(std::string_view text) {
  spdlog::error("{}", printable_line(text));
}
void log_answer(std::string_view text) {
  const std::string line = printable(text) + '\n';
  std::fputs(line.c_str(), stderr);
}

}  // namespace rankwire
