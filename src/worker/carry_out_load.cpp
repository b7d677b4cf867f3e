#include "worker/carry_out_load.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include "explain/companion_load.hpp"

namespace jitterscope {
namespace {

using explain::CompanionWork;

// Launches are made for about so long at once: orders are heard between, and against a loop of 5 ms it is
// short.
constexpr Nanoseconds kStretch = milliseconds(1);
constexpr int kIdlePollMilliseconds = 100;

class LoadRunner {
 public:
  explicit LoadRunner(const LoadPlan& plan)
      : seed_(plan.seed), device_(open_device(plan.device, plan.seed)), queue_(device_->make_queue()) {}

  bool works() const { return current_ != nullptr; }
  std::int64_t launches() const { return launches_; }

  void follow(const LoadOrder& order) {
    current_ = nullptr;
    last_.reset();
    queue_->wait();
    if (!order.work) return;
    current_ = &prepared(*order.work);
    duty_ = order.duty;
    run_stretch();
  }

  // Without a pause the next launches are in the queue before the last ones are done; else it rests behind
  // them for its share.
  void run_stretch() {
    const Nanoseconds began = device_->host_time();
    const auto count = std::max<std::int64_t>(1, std::llround(kStretch / current_->time));
    queue_->launch_in_a_row(*current_->work, count);
    launches_ += count;
    if (duty_ >= 1.0) {
      const Mark end = queue_->mark();
      if (last_) queue_->wait_for(*last_);
      last_ = end;
      return;
    }
    queue_->wait();
    device_->idle((device_->host_time() - began) * (1.0 / duty_ - 1.0));
  }

 private:
  struct Work {
    std::unique_ptr<PreparedOperation> work;
    Nanoseconds time;  ///< of one launch
  };

  Work& prepared(CompanionWork kind) {
    Work& made = works_[kind];
    if (made.work) return made;
    made.work = device_->prepare(explain::companion_work(kind, device_->describe()), {.seed = seed_});
    constexpr int kLaunches = 3;
    for (int i = 0; i < kLaunches; ++i) {  // the first ones load its kernels
      const Nanoseconds began = device_->host_time();
      queue_->launch(*made.work);
      queue_->wait();
      made.time = std::max(device_->host_time() - began, microseconds(1));
    }
    return made;
  }

  std::uint64_t seed_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
  std::map<CompanionWork, Work> works_;
  Work* current_ = nullptr;
  double duty_ = 1.0;
  std::optional<Mark> last_;  ///< end of what is in the queue
  std::int64_t launches_ = 0;
};

}  // namespace

void carry_out_load(const LoadPlan& plan, LineReader& orders,
                    const std::function<void(const std::string& line)>& answer,
                    const std::function<bool()>& interrupted) {
  LoadRunner runner(plan);
  answer(write_load_answer({}));
  while (!orders.is_over() && !interrupted()) {
    if (const auto line = orders.next(runner.works() ? 0 : kIdlePollMilliseconds)) {
      runner.follow(read_load_order(*line));
      answer(write_load_answer({runner.launches()}));
    } else if (runner.works()) {
      runner.run_stretch();
    }
  }
}

}  // namespace jitterscope
