// The peer of the twin's benchmark: htsim's RoCE (github.com/Broadcom/csg-htsim), a packet simulator.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/units.h"

namespace rankwire::bench {

/// A permutation on htsim's three-tier fat-tree of 100 Gb/s and 1 us a link: MTU 4096, PFC (`lossless_input`), ECMP by
/// flow. What it writes lies in a folder that goes with this object.
class Htsim {
 public:
  /// Of the program `htsim_roce` that the environment variable RANKWIRE_HTSIM names; nothing where it names none. Host
  /// h sends `message` to `to[h]`; their number is that of a fat-tree, k^3/4.
  static std::optional<Htsim> of_environment(std::span<const uint32_t> to, Bytes message);
  Htsim(Htsim&& other) noexcept;
  Htsim& operator=(Htsim&&) = delete;
  ~Htsim();

  /// CPU seconds of one run, without those of one that ends after 1 us, which are its set-up. Throws Error when not
  /// every flow finishes.
  double seconds() const;

 private:
  Htsim(std::string program, std::filesystem::path folder, size_t hosts);

  /// CPU seconds, and how many flows finished.
  struct Run {
    double seconds = 0;
    size_t finished = 0;
  };
  Run run(uint32_t end_us) const;

  std::string program_;
  std::filesystem::path folder_;
  size_t hosts_;
};

}  // namespace rankwire::bench
