// Chains: their steps run on one stream or several, which part from the queue's and join it again, so that a
// measurement around a launch on the queue covers all of it. Streams are made only for chains that need them:
// work on a second stream makes recordings slower (Context::stream).
#include "operation/chain.hpp"

#include <cstddef>
#include <optional>
#include <thread>

#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

using Workspaces = WorkspacePool<PlacedMemory>;

// While it lives, operations take their workspaces from the pool of the stream that they will run on.
class BorrowedWorkspaces {
 public:
  BorrowedWorkspaces(const Context& context, Workspaces& pool) : context_(context) {
    context_.borrow_workspaces(&pool);
  }
  ~BorrowedWorkspaces() { context_.borrow_workspaces(nullptr); }
  BorrowedWorkspaces(const BorrowedWorkspaces&) = delete;
  BorrowedWorkspaces& operator=(const BorrowedWorkspaces&) = delete;

 private:
  const Context& context_;
};

/// Lets the host wait for a stream in the way that the chain asks for.
class Waiter {
 public:
  explicit Waiter(HostWait wait)
      : wait_(wait),
        event_(wait == HostWait::blocking ? CU_EVENT_BLOCKING_SYNC : CU_EVENT_DEFAULT),
        value_(Bytes(sizeof(double))) {}

  void wait_for(CUstream stream, const std::optional<MemoryRegion>& value) {
    switch (wait_) {
      case HostWait::none: return;
      case HostWait::stream: return synchronize(stream);
      case HostWait::device: return check(driver().cuCtxSynchronize(), "waiting for the GPU");
      case HostWait::event:
      case HostWait::blocking:
        event_.record(stream);
        return check(driver().cuEventSynchronize(event_.handle()), "waiting for an event");
      case HostWait::polling:
        event_.record(stream);
        while (!has_passed()) {
        }
        return;
      case HostWait::yielding:
        event_.record(stream);
        while (!has_passed()) std::this_thread::yield();
        return;
      case HostWait::value:  // into page-locked memory, as PyTorch's Tensor.item() does
        check(driver().cuMemcpyDtoHAsync(value_.pointer(), reinterpret_cast<CUdeviceptr>(value->address),
                                         static_cast<std::size_t>(value->size.value()), stream),
              "reading a value back");
        return synchronize(stream);
    }
  }

 private:
  static void synchronize(CUstream stream) {
    check(driver().cuStreamSynchronize(stream), "waiting for a stream");
  }
  bool has_passed() const {
    const CUresult result = driver().cuEventQuery(event_.handle());
    if (result == CUDA_ERROR_NOT_READY) return false;
    check(result, "asking for an event");
    return true;
  }

  HostWait wait_;
  OrderEvent event_;
  PinnedMemory value_;
};

/// Keeps all processors busy by blocks on a stream of its own.
class BackgroundLoad {
 public:
  BackgroundLoad(const Context& context, Nanoseconds time)
      : context_(context), time_(time), flags_(Bytes(sizeof(LoadFlags))) {
    // The driver loads its memset kernel at first use, which in a held queue would wait for the release.
    set(offsetof(LoadFlags, stopped), 0, context_.stream());
  }

  /// Starts the load after the work that `from` holds so far.
  void start(CUstream from) const {
    set(offsetof(LoadFlags, started), 0, from);
    set(offsetof(LoadFlags, stopped), 0, from);
    order_.record(from);
    order_.hold(stream_.handle());
    context_.kernels().load(stream_.handle(), flags_.address(), time_);
  }
  void await(CUstream stream) const {
    order_.hold(stream);  // else it would see the flags of the last load
    context_.kernels().await_load(stream, flags_.address());
  }
  void stop(CUstream behind) const { set(offsetof(LoadFlags, stopped), 1, behind); }
  void join(CUstream main) const {
    order_.record(stream_.handle());
    order_.hold(main);
  }

 private:
  void set(std::size_t offset, unsigned value, CUstream stream) const {
    check(driver().cuMemsetD32Async(flags_.address() + offset, value, 1, stream), "setting a flag of a load");
  }

  const Context& context_;
  Nanoseconds time_;
  Stream stream_;
  OrderEvent order_;
  DeviceMemory flags_;
};

struct ChainWorkspaces {
  std::vector<Workspaces> pools;  // one per stream: the next step there can reuse a step's workspace
};

class ChainOperation : private ChainWorkspaces, public PreparedChain {
 public:
  ChainOperation(const Context& context, const Operation& operation, const InputData& data,
                 const PrepareStep& prepare)
      : ChainWorkspaces{std::vector<Workspaces>(
            static_cast<std::size_t>(std::get<Chain>(operation.parameters()).streams))},
        PreparedChain(operation, data, in_pools(pools, context, operation, prepare)),
        context_(context),
        waiter_(chain().wait) {
    context_.make_current();
    // The queue's stream has the usual priority: it is the first stream unless the chain asks for a high one.
    const std::int64_t own = chain().streams - (chain().high_priority ? 0 : 1);
    for (std::int64_t i = 0; i < own; ++i) {
      own_.emplace_back(chain().high_priority ? StreamPriority::highest : StreamPriority::usual);
    }
    for (std::int64_t i = 0; i < chain().streams; ++i) passed_.emplace_back();
    for (std::int64_t i = 0; i < chain().lanes; ++i) stepped_.emplace_back();
    if (chain().load_ns > 0) load_.emplace(context_, Nanoseconds(static_cast<double>(chain().load_ns)));
    require_values(chain());
  }
  ~ChainOperation() override {
    try {
      context_.make_current();
    } catch (const Error&) {  // the GPU is lost: nothing is left to wait for
    }
    driver().cuCtxSynchronize();  // work that still runs on its streams ends first
  }
  ChainOperation(const ChainOperation&) = delete;
  ChainOperation& operator=(const ChainOperation&) = delete;

  void run(NativeQueue queue) override {
    auto* main = static_cast<CUstream>(queue);
    streams_.clear();
    if (!chain().high_priority) streams_.push_back(main);
    for (const Stream& stream : own_) streams_.push_back(stream.handle());
    part(main);
    if (chain().order == ChainOrder::joins) {
      run_step_by_step();
    } else {
      run_lane_by_lane();
    }
    join(main);
  }

 private:
  static PrepareStep in_pools(std::vector<Workspaces>& pools, const Context& context,
                              const Operation& operation, const PrepareStep& prepare) {
    return [&pools, &context, &operation, &prepare](const Operation& step, const InputData& own,
                                                    std::size_t lane, std::size_t number) {
      const Chain& chain = std::get<Chain>(operation.parameters());
      const BorrowedWorkspaces borrowed(context, pools[stream_of(chain, lane, number)]);
      return prepare(step, own, lane, number);
    };
  }

  std::size_t lanes() const { return static_cast<std::size_t>(chain().lanes); }
  std::size_t steps() const { return chain().steps.size(); }
  CUstream stream(std::size_t lane, std::size_t number) const {
    return streams_[stream_of(chain(), lane, number)];
  }

  void part(CUstream main) {
    if (streams_.size() == 1 && streams_.front() == main && !load_) return;
    if (load_) load_->start(main);
    passed_.front().record(main);
    if (streams_.front() != main) passed_.front().hold(streams_.front());
    if (load_) {
      load_->await(streams_.front());
      passed_.front().record(streams_.front());
    }
    for (std::size_t i = 1; i < streams_.size(); ++i) passed_.front().hold(streams_[i]);
  }

  void run_lane_by_lane() {
    for (std::size_t lane = 0; lane < lanes(); ++lane) {
      for (std::size_t number = 0; number < steps(); ++number) {
        CUstream own = stream(lane, number);
        const bool moves = number > 0 && stream(lane, number - 1) != own;
        if (moves && chain().order == ChainOrder::events) stepped_[lane].hold(own);
        run_one(lane, number);
        const bool moves_next = number + 1 < steps() && stream(lane, number + 1) != own;
        if (moves_next && chain().order == ChainOrder::events) stepped_[lane].record(own);
      }
    }
  }

  void run_step_by_step() {
    for (std::size_t number = 0; number < steps(); ++number) {
      for (std::size_t lane = 0; lane < lanes(); ++lane) run_one(lane, number);
      if (number + 1 == steps()) return;
      gather();
      passed_.front().record(streams_.front());
      for (std::size_t i = 1; i < streams_.size(); ++i) passed_.front().hold(streams_[i]);
    }
  }

  // Makes the first stream wait for all others.
  void gather() {
    for (std::size_t i = 1; i < streams_.size(); ++i) {
      passed_[i].record(streams_[i]);
      passed_[i].hold(streams_.front());
    }
  }

  void run_one(std::size_t lane, std::size_t number) {
    CUstream own = stream(lane, number);
    step(lane, number).run(own);
    const bool waits = chain().wait_after == WaitAfter::step || number + 1 == steps();
    if (waits && chain().wait != HostWait::none) waiter_.wait_for(own, value_of(lane, number));
  }

  void join(CUstream main) {
    gather();
    if (load_) load_->stop(streams_.front());
    if (streams_.front() != main) {
      passed_.front().record(streams_.front());
      passed_.front().hold(main);
    }
    if (load_) load_->join(main);
  }

  // Returns the first element of the step's last operand, an output.
  std::optional<MemoryRegion> value_of(std::size_t lane, std::size_t number) const {
    if (chain().wait != HostWait::value) return std::nullopt;
    MemoryRegion value = step(lane, number).memory().back();
    value.size = element_size(chain().steps[number].operands().back().dtype);
    return value;
  }

  const Context& context_;
  Waiter waiter_;
  std::vector<Stream> own_;
  std::vector<CUstream> streams_;    // streams of the current launch
  std::vector<OrderEvent> passed_;   // recorded by each stream
  std::vector<OrderEvent> stepped_;  // recorded by each lane
  std::optional<BackgroundLoad> load_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_chain(const Context& context, const Operation& operation,
                                                 const InputData& data,
                                                 const PreparedChain::PrepareStep& prepare) {
  const Chain& chain = std::get<Chain>(operation.parameters());
  if (!needs_streams(chain)) return std::make_unique<PreparedChain>(operation, data, prepare);
  return std::make_unique<ChainOperation>(context, operation, data, prepare);
}

}  // namespace jitterscope::cuda
