#include "worker/neighbour_process.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/subprocess.hpp"
#include "explain/treatment.hpp"
#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"
#include "worker/plan_format.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {
namespace {

using explain::Companion;
using explain::NeighbourLostError;

// Starting may take seconds if the driver sleeps (a CUDA context). Following an order includes preparing its
// work and the other process's turns.
constexpr Nanoseconds kToStart = seconds(60), kToFollow = seconds(30);

class NeighbourProcess final : public explain::Neighbour {
 public:
  NeighbourProcess(const std::string& executable, const std::string& device,
                   const std::function<bool()>& interrupted)
      : interrupted_(interrupted) {
    try {
      process_ = std::make_unique<AnsweringProcess>(std::vector<std::string>{executable, "worker"});
    } catch (const FailedError& error) {
      throw NeighbourLostError(error.what());
    }
    tell(write_load_plan({.device = device, .parent = ::getpid()}), kToStart);
  }

  void begin(const Companion& work) override {
    tell(write_load_order({.work = work.work, .duty = work.duty}), kToFollow);
  }
  void rest() override { tell(write_load_order({}), kToFollow); }

 private:
  // After any error the process is gone.
  void tell(const std::string& line, Nanoseconds time_limit) {
    if (!process_) throw NeighbourLostError(lost_);
    try {
      read_load_answer(process_->ask(line, time_limit, interrupted_));
      return;
    } catch (const Error& error) {
      lost_ = fmt::format("the other process is lost: {}", error.what());
    }
    process_.reset();
    throw NeighbourLostError(lost_);
  }

  std::function<bool()> interrupted_;
  std::unique_ptr<AnsweringProcess> process_;
  std::string lost_;
};

}  // namespace

std::unique_ptr<explain::Neighbour> start_neighbour_process(const std::string& executable,
                                                            const std::string& device,
                                                            const std::function<bool()>& interrupted) {
  return std::make_unique<NeighbourProcess>(executable, device, interrupted);
}

namespace {

using explain::CompanionWork;

// Launches made at once last about so long: orders are read between them, and it is short against a loop of 5
// ms.
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

  // At full duty the next launches are queued before the last ones end; else it rests after them for its
  // share.
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
    Nanoseconds time;  ///< for one launch
  };

  Work& prepared(CompanionWork kind) {
    Work& made = works_[kind];
    if (made.work) return made;
    made.work = device_->prepare(explain::companion_work(kind, device_->describe()), {.seed = seed_});
    constexpr int kLaunches = 3;
    for (int i = 0; i < kLaunches; ++i) {  // the first launches load its kernels
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

namespace explain {

constexpr auto enumerators(CompanionWork) {
  using enum CompanionWork;
  return std::array{kernels, memory, link};
}

}  // namespace explain

template <class Fields>
void describe(Fields& fields, Described<Fields, LoadPlan>& plan) {
  fields.require("device");
  fields("device", plan.device);
  fields("parent", plan.parent);
  fields("seed", plan.seed);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LoadOrder>& order) {
  fields("work", order.work);
  fields("duty", order.duty);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LoadAnswer>& answer) {
  fields.require("launches");
  fields("launches", answer.launches);
}

namespace {

constexpr std::string_view kLoadFormat = "jitterscope-load";
constexpr std::int64_t kLoadVersion = 1;

}  // namespace

std::string write_load_plan(const LoadPlan& plan) { return written_plan(kLoadFormat, kLoadVersion, plan); }

std::optional<LoadPlan> read_load_plan(std::string_view line) {
  const Json document = Json::parse(line, nullptr, false);
  if (!has_format(document, kLoadFormat)) return std::nullopt;
  if (document.value("version", Json()) != kLoadVersion) {
    throw UsageError("load: of another version: both processes must be one program");
  }
  return read_value<LoadPlan>(document, "load");
}

std::string write_load_order(const LoadOrder& order) { return write_value(order).dump(); }

LoadOrder read_load_order(std::string_view line) {
  auto order = read_value<LoadOrder>(parse_document(line, "order"), "order");
  if (!(order.duty > 0.0) || order.duty > 1.0)
    throw UsageError("order: duty is a share, above 0 and up to 1");
  return order;
}

std::string write_load_answer(const LoadAnswer& answer) { return write_value(answer).dump(); }

LoadAnswer read_load_answer(std::string_view line) {
  rethrow_written_error(line);
  return read_value<LoadAnswer>(parse_document(line, "answer"), "answer");
}

}  // namespace jitterscope
