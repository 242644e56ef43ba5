// `--gate` and `--junit`: what a pipeline asks of a result, and where it is told.
#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "emulator/suite/gate.h"

namespace rankwire {

/// Options of verbs with gates.
struct GateRequest {
  std::vector<std::string> files;  ///< as read_gates reads them
  std::filesystem::path junit;     ///< JUnit XML of the verdict, the limits and the gates; empty: none
};

/// Returns the option `--gate`. `request` outlives the parsing.
CLI::Option* add_gate_options(CLI::App& verb, GateRequest& request);

/// The gates of a verb, read before it does anything and judged when it has its result.
class Gating {
 public:
  /// `folder`: what the verb writes a run into; empty: nothing. Throws as read_gates does, and Error(kInput) where the
  /// JUnit file cannot be written, or would stand where a file of gates or of a run does.
  explicit Gating(const GateRequest& request, const std::filesystem::path& folder = {});

  const std::vector<Gate>& gates() const { return gates_; }
  /// Whether there is anything to judge or to write.
  bool is_asked() const { return !gates_.empty() || !junit_.empty(); }
  /// Judges `document`, whose result is called `name`, and writes the JUnit file. What is wrong with a gate, or with
  /// writing, is thrown by `status` instead, so that the verb can print its result before.
  void judge(const std::string& name, const nlohmann::ordered_json& document);
  /// Puts `gates` into what is printed as JSON, where there are any.
  void add_to(nlohmann::ordered_json& json) const;
  std::string table() const { return gates_table(results_); }
  /// Logs each gate that is not kept, for who prints nothing else.
  void log_trouble() const;
  /// Of the gates alone: 0, 1 or 3. Throws Error(kInput) for a gate of a figure that is unknown.
  int status() const;

 private:
  std::filesystem::path junit_;
  std::vector<Gate> gates_;
  std::vector<GateResult> results_;
  std::exception_ptr wrong_;
};

}  // namespace rankwire
