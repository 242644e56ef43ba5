#include "base/on_threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace rankwire {

void on_threads(uint32_t threads, size_t parts, const std::function<void(size_t part)>& work) {
  std::vector<std::exception_ptr> thrown(parts);
  std::atomic<size_t> next{0};
  std::atomic<bool> stopped{false};
  // Whoever takes a number does the work, so that below one that threw none is left out.
  const auto take_parts = [&] {
    while (!stopped.load()) {
      const size_t part = next.fetch_add(1);
      if (part >= parts) return;
      try {
        work(part);
      } catch (...) {
        thrown[part] = std::current_exception();
        stopped.store(true);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t thread = 1; thread < std::min<size_t>(threads, parts); ++thread) others.emplace_back(take_parts);
    take_parts();
  }
  const auto first = std::ranges::find_if(thrown, [](const std::exception_ptr& error) { return error != nullptr; });
  if (first != thrown.end()) std::rethrow_exception(*first);
}

}  // namespace rankwire
