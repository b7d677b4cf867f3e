#include "worker/neighbour_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/answering_process.hpp"
#include "worker/load_plan.hpp"

namespace jitterscope {
namespace {

using explain::Companion;
using explain::NeighbourLostError;

// A context of CUDA takes seconds where the driver sleeps; an order, the preparing of what it asks for and
// the other process's turns.
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
  // Whatever goes wrong, the process is gone then.
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

}  // namespace jitterscope
