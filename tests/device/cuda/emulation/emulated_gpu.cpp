#include "emulated_gpu.hpp"

#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace emulation {
namespace {

struct Kernel {
  unsigned largest_block;
  Call call;
};
std::map<std::string, Kernel>& kernels() {
  static std::map<std::string, Kernel> all;
  return all;
}

constexpr std::size_t kStackBytes = 64 * 1024;

/// Made once: 1024 stacks take 64 MiB, and a test runs some thousand blocks.
char* stack_of(std::size_t thread) {
  static std::vector<std::unique_ptr<char[]>> stacks;
  while (stacks.size() <= thread) stacks.push_back(std::make_unique_for_overwrite<char[]>(kStackBytes));
  return stacks[thread].get();
}

/// The threads of one block, each with a stack of its own.
class Block {
 public:
  Block(Call call, void** arguments, unsigned threads)
      : call_(call), arguments_(arguments), fibers_(threads) {
    running_ = this;
    for (std::size_t thread = 0; thread < fibers_.size(); ++thread) {
      Fiber& fiber = fibers_[thread];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stack_of(thread);
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, &Block::run_thread, 0);
    }
  }

  void run(unsigned index) {
    block_index.x = index;
    std::fill(std::begin(barriers_), std::end(barriers_), 0u);
    passed_ = 0;
    for (unsigned left = static_cast<unsigned>(fibers_.size()); left > 0;) {
      for (thread_index.x = 0; thread_index.x < fibers_.size(); ++thread_index.x) {
        Fiber& fiber = fibers_[thread_index.x];
        if (fiber.ended) continue;
        swapcontext(&scheduler_, &fiber.context);
        if (fiber.ended) --left;
      }
      open_barriers();
    }
  }
  /// Whoever has ended is waited for by nobody.
  static void wait_at_barrier() {
    const unsigned mine = ++barriers_[thread_index.x];
    do yield();
    while (passed_ < mine);
  }
  static void yield() {
    const unsigned self = thread_index.x;
    swapcontext(&running_->fibers_[self].context, &running_->scheduler_);
  }

 private:
  struct Fiber {
    ucontext_t context;
    bool ended = false;
  };

  /// Between turns, so that all threads go on in the same one and those of a warp stay in step.
  void open_barriers() {
    unsigned reached = ~0u;
    for (std::size_t thread = 0; thread < fibers_.size(); ++thread) {
      if (!fibers_[thread].ended) reached = std::min(reached, barriers_[thread]);
    }
    passed_ = reached;
  }

  static void run_thread() {
    running_->call_(running_->arguments_);
    running_->fibers_[thread_index.x].ended = true;
  }

  static inline Block* running_ = nullptr;
  static inline unsigned barriers_[1024], passed_ = 0;  ///< that each thread has reached, that all have
  Call call_;
  void** arguments_;
  std::vector<Fiber> fibers_;
  ucontext_t scheduler_;
};

}  // namespace

Entry::Entry(const char* name, unsigned largest_block, Call call) { kernels()[name] = {largest_block, call}; }

void wait_for_others() { Block::yield(); }
void wait_at_barrier() { Block::wait_at_barrier(); }

void launch(const char* name, unsigned blocks, unsigned threads, void** arguments) {
  const Kernel& kernel = kernels().at(name);
  if (threads == 0 || threads > kernel.largest_block || blocks == 0) {
    throw std::out_of_range(std::string(name) + ": no such grid");
  }
  block_size.x = threads;
  grid_size.x = blocks;
  for (unsigned index = 0; index < blocks; ++index) {
    std::memset(exchanges, 0, sizeof exchanges);
    Block(kernel.call, arguments, threads).run(index);
  }
}

}  // namespace emulation
