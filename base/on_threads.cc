#include "base/on_threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace rankwire {

std::exception_ptr on_threads(uint32_t threads, size_t parts, const std::function<void(size_t part)>& work) {
  std::vector<std::exception_ptr> thrown(parts);
  std::atomic<size_t> next{0};
  const auto take_parts = [&] {
    for (size_t part = next.fetch_add(1); part < parts; part = next.fetch_add(1)) {
      try {
        work(part);
      } catch (...) {
        thrown[part] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t thread = 1; thread < std::min<size_t>(threads, parts); ++thread) others.emplace_back(take_parts);
    take_parts();
  }
  const auto first = std::ranges::find_if(thrown, [](const std::exception_ptr& error) { return error != nullptr; });
  return first == thrown.end() ? nullptr : *first;
}

void on_all_processors(size_t parts, const std::function<void(size_t part)>& work) {
  const std::exception_ptr failed = on_threads(std::max(1u, std::thread::hardware_concurrency()), parts, work);
  if (failed) std::rethrow_exception(failed);
}

}  // namespace rankwire
