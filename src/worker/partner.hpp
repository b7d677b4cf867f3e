// A worker that this process talks with line by line, wherever it runs: on this host, or beside another rank.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.hpp"

namespace jitterscope {

/// A fresh `jitterscope worker`. The destructor ends it.
class Partner {
 public:
  virtual ~Partner() = default;
  /// Its name in errors: "rank 1 (node7)", "process 2".
  virtual std::string name() const = 0;
  /// The process that started it, which its plan must name as its parent.
  virtual std::int64_t parent() const = 0;
  /// Writes a line, given without its end. If the worker has ended, hear() says so.
  virtual void tell(std::string_view line) = 0;
  /// Returns the next line without its end, or nullopt if none comes within this time. Throws FailedError
  /// with its last words if the worker has ended.
  virtual std::optional<std::string> hear(int milliseconds) = 0;
  /// The worker's last line of progress ("[1/2] relu:count=1Mi"); may be empty.
  virtual std::string phase() const = 0;
};

/// Starts the worker with this number, from 0. Throws FailedError if it cannot be started.
using StartPartner = std::function<std::unique_ptr<Partner>(std::size_t number)>;

/// A worker that is a child of this process.
class LocalPartner final : public Partner {
 public:
  /// `executable` is this program's path.
  LocalPartner(const std::string& executable, std::string name)
      : name_(std::move(name)), process_({executable, "worker"}) {}

  std::string name() const override { return name_; }
  std::int64_t parent() const override;
  void tell(std::string_view line) override { process_.tell(line); }
  std::optional<std::string> hear(int milliseconds) override { return process_.next(milliseconds); }
  std::string phase() const override { return last_line(process_.errors()); }

 private:
  std::string name_;
  AnsweringProcess process_;
};

/// Waits until each partner has written a line, and returns the lines. Throws FailedError, naming the partner
/// and its phase, as soon as one has ended, or those that are silent after the time limit; InterruptedError
/// if one is still silent two seconds after an interruption.
std::vector<std::string> hear_all(const std::vector<std::unique_ptr<Partner>>& partners,
                                  Nanoseconds time_limit, const std::function<bool()>& interrupted = {});

}  // namespace jitterscope
