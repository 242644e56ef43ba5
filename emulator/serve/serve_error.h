// How a request fails: a status of HTTP and what the client is told.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rankwire {

/// Thrown while a request is answered. 4xx: the client can do something about it; `errors` say what, a line each.
class ServeError : public std::runtime_error {
 public:
  ServeError(int status, std::vector<std::string> errors)
      : std::runtime_error(errors.empty() ? "" : errors.front()), status_(status), errors_(std::move(errors)) {}
  ServeError(int status, const std::string& error) : ServeError(status, std::vector<std::string>{error}) {}

  int status() const { return status_; }
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  int status_;
  std::vector<std::string> errors_;
};

}  // namespace rankwire
