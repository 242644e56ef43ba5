// Which ports the jobs of a record shared in what was emulated, beside what the model `flow` predicts of their cables.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "emulator/diagnosis/port_shares.h"
#include "emulator/record/reader.h"

namespace rankwire {

/// Of the emulated side, what was shared longest first.
class SharedPorts {
 public:
  /// `shares` are those of the emulated side. The record outlives it.
  SharedPorts(const RunReader& record, std::span<const PortShare> shares);
  ~SharedPorts();

  /// `summary.json`'s `jobs[].shared_ports`: of the job, the first 16.
  nlohmann::ordered_json json(JobId job) const;
  /// Of each job the first, at most 3 lines of the printed summary; empty where nothing was shared or the record does
  /// not tell for how long.
  std::string text() const;
  /// A table of the section of jobs, of at most 50 rows; empty where no port was shared.
  std::string html() const;

 private:
  friend std::string shared_ports_csv(const RunReader& record);
  class Predictions;

  const RunReader& record_;
  std::vector<PortShare> longest_;
  std::unique_ptr<const Predictions> predictions_;  ///< null: there is nothing
};

/// `shared_ports.csv`: a row for each run with messages, port, direction, job and other.
std::string shared_ports_csv(const RunReader& record);

}  // namespace rankwire
