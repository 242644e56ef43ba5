// The data types in which accelerators compute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rankwire {

/// By rising width: a device without one computes in the next wider one that it has.
enum class DataType : uint8_t { kInt8, kFp8, kFp16, kBf16, kTf32, kFp32, kFp64, kUnknown };

inline constexpr std::array kDataTypes = {DataType::kInt8, DataType::kFp8,  DataType::kFp16, DataType::kBf16,
                                          DataType::kTf32, DataType::kFp32, DataType::kFp64};

/// "int8", "fp8", "fp16", "bf16", "tf32", "fp32", "fp64"; "unknown".
constexpr const char* to_string(DataType type) {
  constexpr const char* kNames[] = {"int8", "fp8", "fp16", "bf16", "tf32", "fp32", "fp64", "unknown"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace rankwire
