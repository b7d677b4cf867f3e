#include "judge/ready_workers.hpp"

namespace jitterscope::judging {

void ReadyWorkers::refill() {
  while (workers_.size() < wanted_) {
    workers_.push_back(start_untrusted(program_));
    workers_.back()->prepare(reference_);
  }
}

void ReadyWorkers::settle() {
  std::erase_if(workers_, [](const auto& worker) { return !worker->is_prepared(); });
}

std::unique_ptr<Worker> ReadyWorkers::take() {
  while (!workers_.empty()) {
    std::unique_ptr<UntrustedWorker> worker = std::move(workers_.back());
    workers_.pop_back();
    if (worker->is_prepared()) return worker;
  }
  return start_untrusted(program_);
}

}  // namespace jitterscope::judging
