// Workers in step: processes that measure at the same time and decide everything together.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "measure/decisions.hpp"
#include "measure/run_record.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {

/// A worker's side: each decision is written as a line, and the line that answers it is the order to follow.
class OrderedDecisions final : public Agreement {
 public:
  OrderedDecisions(LineReader& orders, std::function<void(const std::string& line)> write)
      : orders_(orders), write_(std::move(write)) {}

  RoundShape agree(const RoundShape& own) override;
  std::vector<std::int64_t> agree(Question question, const std::vector<std::int64_t>& own) override;

 private:
  std::string ask(const std::string& line);

  LineReader& orders_;
  std::function<void(const std::string& line)> write_;
};

/// Whether the line is a plan that follows orders: it is then whole.
bool is_in_step(std::string_view plan_line);
/// A record on one line, as the last word of a worker in step.
std::string one_line_of(std::string_view record);

struct WorkersInStep {
  std::string executable;  ///< path of this program: `EXECUTABLE worker` is started for each plan
  Nanoseconds time_limit =
      seconds(120);  ///< for a worker's next word: opening a device and preparing take long
  std::function<bool()> interrupted =
      {};  ///< then all stop with the round that they are at, and keep what they have
};

/// Carries out the plans, which differ in their devices alone, in a process each and at the same time. The
/// first process decides how rounds look; settle() says what comes of the rest. Returns their records in the
/// order of the plans. Throws the error of a process, and FailedError if they ask for unlike decisions.
std::vector<RunRecord> run_in_step(std::vector<WorkerPlan> plans, const WorkersInStep& workers);

}  // namespace jitterscope
