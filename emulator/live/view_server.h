// The reports of finished runs, for a browser.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rankwire {

/// Of a file that rankwire writes into a run folder, its Content-Type; null for any other name.
const char* type_of_run_file(std::string_view name);

/// Serves what rankwire has written into run folders, and an index with their main figures beside each other, to
/// whoever has the token, which is the beginning of every path: what is linked in a page is found without it being
/// told. Files are looked up by their names in a list, so no path leads elsewhere, nor does a symbolic link. On threads
/// of its own.
class ViewServer {
 public:
  /// Binds `listen` (as parse_listen). Throws Error(kInput) when the address cannot be had, or a folder holds no run
  /// that has ended.
  ViewServer(std::string_view listen, const std::vector<std::filesystem::path>& folders);
  /// Ends all connections.
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  void start();
  /// Of the index, with the token.
  std::string url() const;
  /// Of this host alone.
  bool is_loopback() const;

 private:
  class Site;
  std::unique_ptr<Site> site_;
};

}  // namespace rankwire
