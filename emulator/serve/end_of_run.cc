#include "emulator/serve/end_of_run.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

namespace rankwire {

void write_end_of_run(const std::filesystem::path& folder, const EndOfRun& end) {
  nlohmann::json json{{"last_words", end.last_words}, {"reason", end.reason}};
  if (end.exit_status) json["exit_status"] = *end.exit_status;
  // Beside what is there, so that a full disk leaves that or nothing. No file of a client begins with a dot.
  const std::filesystem::path beside = folder / fmt::format(".{}", kEndOfRunFile);
  std::ofstream file(beside);
  // What a program wrote need be no UTF-8.
  file << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  std::error_code ignored;
  if (file) std::filesystem::rename(beside, folder / kEndOfRunFile, ignored);
  if (!file || ignored) std::filesystem::remove(beside, ignored);
}

EndOfRun read_end_of_run(const std::filesystem::path& folder) {
  std::ifstream file(folder / kEndOfRunFile);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  EndOfRun end;
  if (!json.is_object()) return end;
  const auto text_of = [&](const char* field) {
    const auto found = json.find(field);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  end.last_words = text_of("last_words");
  end.reason = text_of("reason");
  if (const auto status = json.find("exit_status"); status != json.end() && status->is_number_integer())
    end.exit_status = status->get<int>();
  return end;
}

}  // namespace rankwire
