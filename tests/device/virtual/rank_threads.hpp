// Ranks of a simulated cluster as threads of one process.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope::virtual_gpu {

/// Thrown to the ranks that wait for one that has ended.
struct RanksLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Lets threads exchange texts; all are released if one ends.
class Meeting {
 public:
  explicit Meeting(std::size_t count) : texts_(count) {}

  std::vector<std::string> exchange(std::size_t rank, const std::string& text) {
    std::unique_lock lock(mutex_);
    texts_[rank] = text;
    const std::size_t turn = turn_;
    if (++here_ == texts_.size()) {
      met_ = texts_;
      here_ = 0;
      ++turn_;
      changed_.notify_all();
      return met_;
    }
    changed_.wait(lock, [&] { return turn_ != turn || is_over_; });
    if (turn_ == turn) throw RanksLost("a rank has ended");
    return met_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> texts_, met_;
  std::size_t here_ = 0, turn_ = 0;
  bool is_over_ = false;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(Meeting& meeting, int rank, int count) : meeting_(meeting), rank_(rank), count_(count) {}
  int rank() const override { return rank_; }
  int count() const override { return count_; }
  std::vector<std::string> exchange(const std::string& own) override {
    ++exchanges;
    return meeting_.exchange(static_cast<std::size_t>(rank_), own);
  }
  int exchanges = 0;

 private:
  Meeting& meeting_;
  int rank_, count_;
};

/// Runs `work` as each rank, and throws the error of the first that had one of its own.
inline void run_ranks(int count, const std::function<void(ThreadRanks&)>& work) {
  Meeting meeting(static_cast<std::size_t>(count));
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRanks ranks(meeting, rank, count);
      try {
        work(ranks);
      } catch (const RanksLost&) {
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
      meeting.end();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace jitterscope::virtual_gpu
