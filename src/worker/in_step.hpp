// Runs workers in step: processes that measure at the same time and make every decision together.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "jitterscope/device.hpp"
#include "measure/decisions.hpp"
#include "measure/run_record.hpp"
#include "worker/partner.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {

/// The orders have ended, or are none. It is no Error, which would be taken for that of a trial.
struct OrdersLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A worker's side: writes each decision, or text for the other ranks, as a line; the line that answers it is
/// the order to follow.
class OrderedAgreement final : public Agreement, public Ranks {
 public:
  /// The worker is `rank` of `count`, as its plan says.
  OrderedAgreement(std::int64_t rank, std::int64_t count, LineReader& orders,
                   std::function<void(const std::string& line)> write)
      : rank_(static_cast<int>(rank)),
        count_(static_cast<int>(count)),
        orders_(orders),
        write_(std::move(write)) {}

  RoundShape agree(const RoundShape& own) override;
  std::vector<std::int64_t> agree(Question question, const std::vector<std::int64_t>& own) override;

  int rank() const override { return rank_; }
  int count() const override { return count_; }
  std::vector<std::string> exchange(const std::string& own) override;

 private:
  std::string ask(const std::string& line);

  int rank_, count_;
  LineReader& orders_;
  std::function<void(const std::string& line)> write_;
};

/// True if the line is a complete plan whose process follows orders.
bool is_in_step(std::string_view plan_line);
/// Returns the record as one line, the last that a worker in step writes.
std::string one_line_of(std::string_view record);

struct WorkersInStep {
  std::string executable;   ///< path of this program: `EXECUTABLE worker` is started for each plan
  StartPartner start = {};  ///< starts the worker of each plan elsewhere; empty: on this host
  /// Limit for a worker's next answer; nullopt: as long as the whole plan may take.
  std::optional<Nanoseconds> time_limit = {};
  /// If true, all stop with their current round and keep what they have, if that takes two seconds or less.
  std::function<bool()> interrupted = {};
};

/// Carries out the plans in a process each, at the same time. They differ in their devices alone, which are
/// of one kind; trials of collectives have the same seeds in all, as each rank computes the inputs of all.
/// settle() says how the processes decide; the first decides how rounds look. Returns their records in the
/// order of the plans. Throws UsageError for an operation whose engine is chosen by its times,
/// the error of a process, FailedError if they are at unlike places, with the names of two, and
/// InterruptedError if they do not end soon after an interruption.
std::vector<RunRecord> run_in_step(std::vector<WorkerPlan> plans, const WorkersInStep& workers);

}  // namespace jitterscope
