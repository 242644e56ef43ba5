// The page of a run as it goes on, and its metrics.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "emulator/live/live_state.h"
#include "emulator/live/report_drawer.h"

namespace rankwire {

/// Serves `/` (the page), `/events` (server-sent events: the state twice a second), `/report` (that of the record so
/// far, and at the end the run's), `/metrics` (Prometheus) and `/stop` (POST) to whoever has the token, on threads of
/// its own. Never holds up a run, nor its end by more than four seconds.
class LiveServer {
 public:
  static constexpr int kMostViewers = 8;  ///< of events at a time; others are told to come back

  /// Binds `listen` (as parse_listen). `stop` is called by a thread of the server when somebody presses the button; it
  /// and the state outlive this. Throws Error(kInput) when the address cannot be had.
  LiveServer(std::string_view listen, LiveState& state, std::function<void()> stop);
  /// Ends all connections.
  ~LiveServer();
  LiveServer(const LiveServer&) = delete;
  LiveServer& operator=(const LiveServer&) = delete;

  /// Threads are made here: they stay on the caller's CPUs. Without a `drawing` there is no report.
  void start(std::optional<ReportDrawing> drawing = {});
  /// Gives pages a second to be told how it ended (LiveState::end) and three to take its report, then ends.
  void finish();

  /// Of the page, with the token.
  std::string url() const;
  /// "http://127.0.0.1:8080".
  std::string origin() const;
  const std::string& token() const;
  /// Of this host alone.
  bool is_loopback() const;

 private:
  class Site;
  std::unique_ptr<Site> site_;
};

}  // namespace rankwire
