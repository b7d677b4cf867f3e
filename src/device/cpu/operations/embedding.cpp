#include <cstring>
#include <vector>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"

namespace jitterscope::cpu {
namespace {

template <class Format>
class EmbeddingLoops final : public CpuOperation {
 public:
  EmbeddingLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), embedding_(std::get<Embedding>(operation.parameters())) {}

  void run(NativeQueue) override { embedding_.pass == Pass::backward ? backward() : forward(); }

 private:
  using Stored = typename Format::Stored;

  void forward() const {
    const std::int64_t columns = embedding_.columns;
    const auto row = static_cast<std::size_t>(columns) * sizeof(Stored);
    const auto* indices = data<const std::int64_t>(0);
#pragma omp parallel for schedule(static) if (embedding_.count * columns > kParallel)
    for (std::int64_t i = 0; i < embedding_.count; ++i) {
      std::memcpy(data<Stored>(2) + i * columns, data<const Stored>(1) + indices[i] * columns, row);
    }
  }

  // Sorted by row first, so that each row is summed by one thread and rounded once.
  void backward() {
    sort_by_row();
#pragma omp parallel for schedule(dynamic, 64) if (embedding_.rows * embedding_.columns > kParallel)
    for (std::int64_t row = 0; row < embedding_.rows; ++row) sum_row(row);
  }

  void sort_by_row() {
    const auto* indices = data<const std::int64_t>(1);
    starts_.assign(static_cast<std::size_t>(embedding_.rows) + 1, 0);
    order_.resize(static_cast<std::size_t>(embedding_.count));
    for (std::int64_t i = 0; i < embedding_.count; ++i) ++starts_[static_cast<std::size_t>(indices[i]) + 1];
    for (std::size_t row = 1; row < starts_.size(); ++row) starts_[row] += starts_[row - 1];
    next_.assign(starts_.begin(), starts_.end() - 1);
    for (std::int64_t i = 0; i < embedding_.count; ++i) {
      order_[static_cast<std::size_t>(next_[static_cast<std::size_t>(indices[i])]++)] = i;
    }
  }

  void sum_row(std::int64_t row) const {
    const std::int64_t columns = embedding_.columns;
    const auto first = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(starts_[static_cast<std::size_t>(row) + 1]);
    auto* out = data<Stored>(2) + row * columns;
    if (first == end) {
      std::memset(out, 0, static_cast<std::size_t>(columns) * sizeof(Stored));
      return;
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      double sum = 0.0;
      for (std::size_t i = first; i < end; ++i) {
        sum += wide<Format>(data<const Stored>(0)[order_[i] * columns + column]);
      }
      out[column] = narrow<Format>(sum);
    }
  }

  Embedding embedding_;
  std::vector<std::int64_t> starts_, next_, order_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_embedding(const Operation& operation, const InputTable& inputs) {
  return prepare_loops<EmbeddingLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
