// The Open Traffic Generator API over HTTP, and what rankwire has beside it, below /rankwire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "emulator/serve/otg_service.h"
#include "emulator/serve/serve_options.h"

namespace rankwire {

/// Answers by `service`. What goes wrong is the model's Error, with the status of HTTP as its code.
class RestServer {
 public:
  /// Binds `options.listen`. `token`: what `Authorization: Bearer` must say; empty: nothing is asked for. All outlive
  /// it. Throws Error(kInput).
  RestServer(const ServeOptions& options, std::string token, OtgService& service, RunQueue& queue, KeptRuns& store);
  ~RestServer();
  RestServer(const RestServer&) = delete;
  RestServer& operator=(const RestServer&) = delete;

  /// Threads are made here.
  void start();
  /// "http://127.0.0.1:8443".
  std::string origin() const;
  bool is_loopback() const;

 private:
  class Site;
  std::unique_ptr<Site> site_;
};

}  // namespace rankwire
