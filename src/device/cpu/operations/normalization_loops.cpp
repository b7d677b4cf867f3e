#include <algorithm>
#include <cmath>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/operations/shapes.hpp"

namespace jitterscope::cpu {
namespace {

constexpr double kEpsilon = 1e-5;

// A thread takes whole channels, so that any number of threads gives the same bits.
template <class Format>
class BatchNormLoops final : public CpuOperation {
 public:
  BatchNormLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        norm_(std::get<BatchNorm>(operation.parameters())),
        steps_(strides(norm_.c, norm_.h, norm_.w, norm_.layout)) {}

  void run(NativeQueue) override {
#pragma omp parallel for schedule(static)
    for (std::int64_t c = 0; c < norm_.c; ++c) {
      switch (norm_.pass) {
        case Pass::forward: forward(c); break;
        case Pass::backward: backward(c); break;
        case Pass::inference: inference(c); break;
      }
    }
  }

 private:
  using Stored = typename Format::Stored;
  using Statistic = typename Format::Value;

  double x(std::int64_t i) const { return wide<Format>(data<const Stored>(0)[i]); }
  double statistic(std::size_t operand, std::int64_t c) const {
    return static_cast<double>(data<const Statistic>(operand)[c]);
  }
  void set_statistic(std::size_t operand, std::int64_t c, double value) const {
    data<Statistic>(operand)[c] = static_cast<Statistic>(value);
  }
  bool has_f32_weights() const { return norm_.weights == DataType::f32; }
  double weight(std::size_t operand, std::int64_t c) const {
    return has_f32_weights() ? statistic(operand, c) : wide<Format>(data<const Stored>(operand)[c]);
  }
  void set_weight(std::size_t operand, std::int64_t c, double value) const {
    if (has_f32_weights()) return set_statistic(operand, c, value);
    data<Stored>(operand)[c] = narrow<Format>(value);
  }
  double count() const {
    return static_cast<double>(norm_.n) * static_cast<double>(norm_.h) * static_cast<double>(norm_.w);
  }

  template <class Function>
  void for_channel(std::int64_t c, const Function& visit) const {
    for (std::int64_t n = 0; n < norm_.n; ++n) {
      for (std::int64_t h = 0; h < norm_.h; ++h) {
        for (std::int64_t w = 0; w < norm_.w; ++w) visit(steps_.at(n, c, h, w));
      }
    }
  }

  void scale(std::int64_t c, double mean, double deviation, std::size_t output) const {
    const double slope = deviation * weight(1, c), offset = weight(2, c) - mean * slope;
    for_channel(c, [&](std::int64_t i) { data<Stored>(output)[i] = narrow<Format>(x(i) * slope + offset); });
  }

  void forward(std::int64_t c) const {
    double sum = 0.0, squares = 0.0;
    for_channel(c, [&](std::int64_t i) { sum += x(i); });
    const double mean = sum / count();
    for_channel(c, [&](std::int64_t i) { squares += (x(i) - mean) * (x(i) - mean); });
    const double deviation = 1.0 / std::sqrt(squares / count() + kEpsilon);
    scale(c, mean, deviation, 3);
    set_statistic(4, c, mean);
    set_statistic(5, c, deviation);
  }

  void backward(std::int64_t c) const {
    const double mean = statistic(3, c), deviation = statistic(4, c);
    const auto dy = [&](std::int64_t i) { return wide<Format>(data<const Stored>(1)[i]); };
    double dbias = 0.0, dweight = 0.0;
    for_channel(c, [&](std::int64_t i) {
      dbias += dy(i);
      dweight += dy(i) * (x(i) - mean) * deviation;
    });
    const double slope = weight(2, c) * deviation;
    for_channel(c, [&](std::int64_t i) {
      const double rest = dy(i) - (dbias + (x(i) - mean) * deviation * dweight) / count();
      data<Stored>(5)[i] = narrow<Format>(slope * rest);
    });
    set_weight(6, c, dweight);
    set_weight(7, c, dbias);
  }

  void inference(std::int64_t c) const {
    scale(c, statistic(3, c), 1.0 / std::sqrt(statistic(4, c) + kEpsilon), 5);
  }

  BatchNorm norm_;
  Strides steps_;
};

template <class Format>
class LayerNormLoops final : public CpuOperation {
 public:
  LayerNormLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), norm_(std::get<LayerNorm>(operation.parameters())) {}

  void run(NativeQueue) override {
    const bool parallel = norm_.rows * norm_.columns > kParallel;
    const bool backward = norm_.pass == Pass::backward;
#pragma omp parallel for schedule(static) if (parallel)
    for (std::int64_t row = 0; row < norm_.rows; ++row) backward ? data_gradient(row) : forward(row);
    if (!backward) return;
    const std::int64_t blocks = (norm_.columns + kBlock - 1) / kBlock;
#pragma omp parallel for schedule(static) if (parallel)
    for (std::int64_t block = 0; block < blocks; ++block) parameter_gradients(block * kBlock);
  }

 private:
  using Stored = typename Format::Stored;
  using Statistic = typename Format::Value;
  // Columns whose gradients are summed together: some cache lines of each row.
  static constexpr std::int64_t kBlock = 64;

  double value(std::size_t operand, std::int64_t i) const {
    return wide<Format>(data<const Stored>(operand)[i]);
  }
  double statistic(std::size_t operand, std::int64_t row) const {
    return static_cast<double>(data<const Statistic>(operand)[row]);
  }

  void forward(std::int64_t row) const {
    const std::int64_t first = row * norm_.columns;
    const auto columns = static_cast<double>(norm_.columns);
    double sum = 0.0, squares = 0.0;
    for (std::int64_t i = 0; i < norm_.columns; ++i) sum += value(0, first + i);
    const double mean = sum / columns;
    for (std::int64_t i = 0; i < norm_.columns; ++i) {
      squares += (value(0, first + i) - mean) * (value(0, first + i) - mean);
    }
    const double deviation = 1.0 / std::sqrt(squares / columns + kEpsilon);
    for (std::int64_t i = 0; i < norm_.columns; ++i) {
      data<Stored>(3)[first + i] =
          narrow<Format>((value(0, first + i) - mean) * deviation * value(1, i) + value(2, i));
    }
    data<Statistic>(4)[row] = static_cast<Statistic>(mean);
    data<Statistic>(5)[row] = static_cast<Statistic>(deviation);
  }

  double normalized(std::int64_t row, std::int64_t i) const {
    return (value(1, i) - statistic(2, row)) * statistic(3, row);
  }

  void data_gradient(std::int64_t row) const {
    const std::int64_t first = row * norm_.columns;
    const auto columns = static_cast<double>(norm_.columns);
    double sum = 0.0, along = 0.0;
    for (std::int64_t i = 0; i < norm_.columns; ++i) {
      const double weighted = value(0, first + i) * value(4, i);
      sum += weighted;
      along += weighted * normalized(row, first + i);
    }
    for (std::int64_t i = 0; i < norm_.columns; ++i) {
      const double weighted = value(0, first + i) * value(4, i);
      const double rest = weighted - (sum + normalized(row, first + i) * along) / columns;
      data<Stored>(5)[first + i] = narrow<Format>(statistic(3, row) * rest);
    }
  }

  void parameter_gradients(std::int64_t first) const {
    const std::int64_t width = std::min(kBlock, norm_.columns - first);
    double dweight[kBlock] = {}, dbias[kBlock] = {};
    for (std::int64_t row = 0; row < norm_.rows; ++row) {
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t place = row * norm_.columns + first + i;
        dweight[i] += value(0, place) * normalized(row, place);
        dbias[i] += value(0, place);
      }
    }
    for (std::int64_t i = 0; i < width; ++i) {
      data<Stored>(6)[first + i] = narrow<Format>(dweight[i]);
      data<Stored>(7)[first + i] = narrow<Format>(dbias[i]);
    }
  }

  LayerNorm norm_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_batch_norm_loops(const Operation& operation,
                                                            const InputTable& inputs) {
  return prepare_loops<BatchNormLoops>(operation, inputs);
}
std::unique_ptr<PreparedOperation> prepare_layer_norm_loops(const Operation& operation,
                                                            const InputTable& inputs) {
  return prepare_loops<LayerNormLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
