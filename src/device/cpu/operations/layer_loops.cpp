#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"
#include "device/cpu/operations/prepare.hpp"

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

namespace {

template <class Format>
class SoftmaxLoops final : public CpuOperation {
 public:
  SoftmaxLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), softmax_(std::get<Softmax>(operation.parameters())) {}

  void run(NativeQueue) override {
    const bool backward = softmax_.pass == Pass::backward;
#pragma omp parallel for schedule(static) if (softmax_.rows * softmax_.columns > kParallel)
    for (std::int64_t row = 0; row < softmax_.rows; ++row) {
      const std::int64_t first = row * softmax_.columns;
      backward ? gradient(first, first + softmax_.columns) : forward(first, first + softmax_.columns);
    }
  }

 private:
  using Stored = typename Format::Stored;

  double value(std::size_t operand, std::int64_t i) const {
    return wide<Format>(data<const Stored>(operand)[i]);
  }

  void forward(std::int64_t first, std::int64_t end) const {
    double largest = value(0, first), sum = 0.0;
    for (std::int64_t i = first; i < end; ++i) largest = std::max(largest, value(0, i));
    for (std::int64_t i = first; i < end; ++i) sum += std::exp(value(0, i) - largest);
    const double logarithm = largest + std::log(sum);
    for (std::int64_t i = first; i < end; ++i) {
      const double result = value(0, i) - logarithm;
      data<Stored>(1)[i] = narrow<Format>(softmax_.logarithm ? result : std::exp(result));
    }
  }

  void gradient(std::int64_t first, std::int64_t end) const {
    double sum = 0.0;
    for (std::int64_t i = first; i < end; ++i) sum += value(0, i) * (softmax_.logarithm ? 1.0 : value(1, i));
    for (std::int64_t i = first; i < end; ++i) {
      const double dy = value(0, i), y = value(1, i);
      data<Stored>(2)[i] = narrow<Format>(softmax_.logarithm ? dy - std::exp(y) * sum : y * (dy - sum));
    }
  }

  Softmax softmax_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_softmax_loops(const Operation& operation,
                                                         const InputTable& inputs) {
  return prepare_loops<SoftmaxLoops>(operation, inputs);
}

namespace {

// `end` is one past the last.
struct Span {
  std::int64_t first, end;
};

// The part of a window that lies on the input.
Span under(std::int64_t out, std::int64_t window, std::int64_t stride, std::int64_t pad, std::int64_t size) {
  const std::int64_t first = out * stride - pad;
  return {std::max<std::int64_t>(first, 0), std::min(first + window, size)};
}

// The windows over an input position.
Span over(std::int64_t in, std::int64_t window, std::int64_t stride, std::int64_t pad,
          std::int64_t out_size) {
  const std::int64_t shifted = in + pad;
  return {shifted < window ? 0 : (shifted - window) / stride + 1, std::min(shifted / stride + 1, out_size)};
}

template <class Format>
class PoolLoops final : public CpuOperation {
 public:
  PoolLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        pool_(std::get<Pool2d>(operation.parameters())),
        x_(strides(pool_.c, pool_.h, pool_.w, pool_.layout)),
        y_(strides(pool_.c, pool_.out_h(), pool_.out_w(), pool_.layout)) {}

  // Threads take rows of the output, one channel after the other.
  void run(NativeQueue) override {
    const bool backward = pool_.pass == Pass::backward;
    const std::int64_t rows = backward ? pool_.h : pool_.out_h();
    const std::int64_t elements = pool_.n * pool_.c * rows * (backward ? pool_.w : pool_.out_w());
#pragma omp parallel for collapse(2) schedule(static) if (elements > kParallel)
    for (std::int64_t n = 0; n < pool_.n; ++n) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t c = 0; c < pool_.c; ++c)
          backward ? backward_row(n, c, row) : forward_row(n, c, row);
      }
    }
  }

 private:
  using Stored = typename Format::Stored;

  void forward_row(std::int64_t n, std::int64_t c, std::int64_t p) const {
    const Span rows = under(p, pool_.window_h, pool_.stride_h, pool_.pad_h, pool_.h);
    for (std::int64_t q = 0; q < pool_.out_w(); ++q) {
      const Span columns = under(q, pool_.window_w, pool_.stride_w, pool_.pad_w, pool_.w);
      const std::int64_t y = y_.at(n, c, p, q);
      pool_.kind == PoolKind::max ? largest(n, c, rows, columns, y) : average(n, c, rows, columns, y);
    }
  }

  // The first of equal elements counts, and the last NaN, as in PyTorch.
  void largest(std::int64_t n, std::int64_t c, Span rows, Span columns, std::int64_t y) const {
    const auto* x = data<const Stored>(0);
    std::int64_t best = rows.first * pool_.w + columns.first;
    Stored found = x[x_.at(n, c, rows.first, columns.first)];
    for (std::int64_t i = rows.first; i < rows.end; ++i) {
      for (std::int64_t j = columns.first; j < columns.end; ++j) {
        const Stored candidate = x[x_.at(n, c, i, j)];
        if (!(Format::read(candidate) > Format::read(found) || std::isnan(Format::read(candidate)))) continue;
        found = candidate;
        best = i * pool_.w + j;
      }
    }
    data<Stored>(1)[y] = found;
    data<std::int64_t>(2)[y] = best;
  }

  void average(std::int64_t n, std::int64_t c, Span rows, Span columns, std::int64_t y) const {
    double sum = 0.0;
    for (std::int64_t i = rows.first; i < rows.end; ++i) {
      for (std::int64_t j = columns.first; j < columns.end; ++j) {
        sum += wide<Format>(data<const Stored>(0)[x_.at(n, c, i, j)]);
      }
    }
    data<Stored>(1)[y] = narrow<Format>(sum / static_cast<double>(pool_.window_h * pool_.window_w));
  }

  // Gathers each element's gradient, so that sums are rounded once and threads never conflict.
  void backward_row(std::int64_t n, std::int64_t c, std::int64_t i) const {
    const bool max = pool_.kind == PoolKind::max;
    const Span rows = over(i, pool_.window_h, pool_.stride_h, pool_.pad_h, pool_.out_h());
    for (std::int64_t j = 0; j < pool_.w; ++j) {
      const Span columns = over(j, pool_.window_w, pool_.stride_w, pool_.pad_w, pool_.out_w());
      double sum = 0.0;
      for (std::int64_t p = rows.first; p < rows.end; ++p) {
        for (std::int64_t q = columns.first; q < columns.end; ++q) {
          const std::int64_t y = y_.at(n, c, p, q);
          if (max && data<const std::int64_t>(1)[y] != i * pool_.w + j) continue;
          sum += wide<Format>(data<const Stored>(0)[y]);
        }
      }
      if (!max) sum /= static_cast<double>(pool_.window_h * pool_.window_w);
      data<Stored>(max ? 2 : 1)[x_.at(n, c, i, j)] = narrow<Format>(sum);
    }
  }

  Pool2d pool_;
  Strides x_, y_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_pool_loops(const Operation& operation, const InputTable& inputs) {
  return prepare_loops<PoolLoops>(operation, inputs);
}

// Attention in our own loops: one query at a time, or one key for the gradients of keys and values. One row
// of scores is kept, never the whole matrix.

namespace {

/// The places of the rows (dim elements) of queries or keys. They are numbered through batch, heads and
/// sequence, whatever the layout.
struct AttentionRows {
  std::int64_t batch, heads, length;
  HeadLayout layout;

  /// Number of rows before this one in memory.
  std::int64_t place(std::int64_t row) const {
    const std::int64_t position = row % length, head = row / length % heads, item = row / length / heads;
    switch (layout) {
      case HeadLayout::bhsd: break;
      case HeadLayout::bshd: return (item * length + position) * heads + head;
      case HeadLayout::sbhd: return (position * batch + item) * heads + head;
    }
    return row;
  }
  /// The row with so many before it in memory.
  std::int64_t row(std::int64_t place) const {
    const std::int64_t head = place % heads, outer = place / heads;
    switch (layout) {
      case HeadLayout::bhsd: break;
      case HeadLayout::bshd: return (outer / length * heads + head) * length + outer % length;
      case HeadLayout::sbhd: return (outer % batch * heads + head) * length + outer / batch;
    }
    return place;
  }
};

AttentionRows query_rows(const Attention& attention) {
  return {attention.batch, attention.heads, attention.queries, attention.layout};
}
AttentionRows key_rows(const Attention& attention) {
  return {attention.batch, attention.kv_heads, attention.keys, attention.layout};
}

// A sum of weighted rows. A few rows are summed in the type of the arithmetic, which takes half as long as in
// double; those sums are summed in double, because there may be any number of keys.
template <class Format>
class RowSum {
 public:
  using Value = typename Format::Value;

  explicit RowSum(std::int64_t columns) : few_(static_cast<std::size_t>(columns)), all_(few_.size()) {}

  void clear() {
    std::fill(few_.begin(), few_.end(), Value(0));
    std::fill(all_.begin(), all_.end(), 0.0);
    added_ = 0;
  }
  void add(Value weight, const typename Format::Stored* row) {
    constexpr int kFew = 64;
    const auto columns = static_cast<std::int64_t>(few_.size());
    Value* few = few_.data();
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) few[i] += weight * Format::read(row[i]);
    if (++added_ % kFew == 0) gather();
  }
  void write(typename Format::Stored* row) {
    gather();
    for (std::size_t i = 0; i < all_.size(); ++i) row[i] = narrow<Format>(all_[i]);
  }

 private:
  void gather() {
    for (std::size_t i = 0; i < all_.size(); ++i)
      all_[i] += static_cast<double>(std::exchange(few_[i], Value(0)));
  }

  std::vector<Value> few_;
  std::vector<double> all_;
  int added_ = 0;
};

template <class Format>
class AttentionLoops final : public CpuOperation {
 public:
  AttentionLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        attention_(std::get<Attention>(operation.parameters())),
        queries_(query_rows(attention_)),
        keys_(key_rows(attention_)),
        scale_(Value(1.0 / std::sqrt(static_cast<double>(attention_.dim)))) {}

  void run(NativeQueue) override {
    const std::int64_t queries = attention_.batch * attention_.heads * attention_.queries;
    const std::int64_t keys = attention_.batch * attention_.kv_heads * attention_.keys;
    const bool backward = attention_.pass == Pass::backward;
#pragma omp parallel
    {
      Buffers buffers(attention_);
#pragma omp for schedule(dynamic, 16)
      for (std::int64_t query = 0; query < queries; ++query) of_query(query, buffers);
#pragma omp for schedule(dynamic, 16)
      for (std::int64_t key = 0; key < (backward ? keys : 0); ++key) {
        key_gradients(key, buffers.sums, buffers.more);
      }
    }
  }

  bool compute_element(std::size_t operand, std::int64_t index) override {
    Buffers buffers(attention_);
    const bool is_of_key = operand == 7 || operand == 8, is_logsumexp = operand == 4;
    const std::int64_t place = is_logsumexp ? index : index / attention_.dim;
    if (is_of_key) {
      key_gradients(keys_.row(place), buffers.sums, buffers.more);
    } else {
      of_query(is_logsumexp ? place : queries_.row(place), buffers);
    }
    return true;
  }

 private:
  using Stored = typename Format::Stored;
  using Value = typename Format::Value;

  // Per thread: the scores of a row, and sums along the rows of one or two tensors.
  struct Buffers {
    explicit Buffers(const Attention& attention)
        : weights(static_cast<std::size_t>(attention.keys)), sums(attention.dim), more(attention.dim) {}
    std::vector<Value> weights;
    RowSum<Format> sums, more;
  };

  void of_query(std::int64_t query, Buffers& buffers) const {
    attention_.pass == Pass::backward ? query_gradient(query, buffers.sums)
                                      : forward(query, buffers.weights, buffers.sums);
  }

  const Stored* query_row(std::size_t operand, std::int64_t query) const {
    return data<const Stored>(operand) + queries_.place(query) * attention_.dim;
  }
  const Stored* key_row(std::size_t operand, std::int64_t key) const {
    return data<const Stored>(operand) + keys_.place(key) * attention_.dim;
  }
  // Number of keys that the query sees: the first ones.
  std::int64_t seen(std::int64_t query) const {
    const std::int64_t position = query % attention_.queries;
    return attention_.causal ? std::min(position + 1, attention_.keys) : attention_.keys;
  }
  // Query heads that share a key head follow each other.
  std::int64_t first_key(std::int64_t query) const {
    return query / attention_.queries / attention_.group() * attention_.keys;
  }

  Value dot(const Stored* a, const Stored* b) const {
    Value sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < attention_.dim; ++i) sum += Format::read(a[i]) * Format::read(b[i]);
    return sum;
  }
  Stored* row(std::size_t operand, std::int64_t place) const {
    return data<Stored>(operand) + place * attention_.dim;
  }

  void forward(std::int64_t query, std::vector<Value>& weights, RowSum<Format>& sums) const {
    const std::int64_t keys = seen(query), first = first_key(query);
    for (std::int64_t j = 0; j < keys; ++j) {
      weights[static_cast<std::size_t>(j)] = scale_ * dot(query_row(0, query), key_row(1, first + j));
    }
    const Value largest = *std::max_element(weights.begin(), weights.begin() + keys);
    double total = 0.0;
    for (std::int64_t j = 0; j < keys; ++j) {
      Value& weight = weights[static_cast<std::size_t>(j)];
      weight = std::exp(weight - largest);
      total += static_cast<double>(weight);
    }
    sums.clear();
    for (std::int64_t j = 0; j < keys; ++j) {
      sums.add(weights[static_cast<std::size_t>(j)] / Value(total), key_row(2, first + j));
    }
    sums.write(row(3, queries_.place(query)));
    data<float>(4)[query] = static_cast<float>(static_cast<double>(largest) + std::log(total));
  }

  // Backward operands: dy, q, k, v, y, logsumexp.
  Value weight(std::int64_t query, std::int64_t key) const {
    return std::exp(scale_ * dot(query_row(1, query), key_row(2, key)) - Value(data<const float>(5)[query]));
  }
  Value score_gradient(std::int64_t query, std::int64_t key, Value weight, Value along) const {
    return weight * (dot(query_row(0, query), key_row(3, key)) - along) * scale_;
  }

  void query_gradient(std::int64_t query, RowSum<Format>& sums) const {
    const std::int64_t first = first_key(query);
    const Value along = dot(query_row(0, query), query_row(4, query));
    sums.clear();
    for (std::int64_t key = first; key < first + seen(query); ++key) {
      sums.add(score_gradient(query, key, weight(query, key), along), key_row(2, key));
    }
    sums.write(row(6, queries_.place(query)));
  }

  void key_gradients(std::int64_t key, RowSum<Format>& dk, RowSum<Format>& dv) const {
    dk.clear();
    dv.clear();
    const std::int64_t queries = attention_.group() * attention_.queries;
    const std::int64_t first = key / attention_.keys * queries;
    for (std::int64_t query = first; query < first + queries; ++query) {
      if (key % attention_.keys >= seen(query)) continue;
      const Value share = weight(query, key);
      const Value along = dot(query_row(0, query), query_row(4, query));
      dk.add(score_gradient(query, key, share, along), query_row(1, query));
      dv.add(share, query_row(0, query));
    }
    dk.write(row(7, keys_.place(key)));
    dv.write(row(8, keys_.place(key)));
  }

  Attention attention_;
  AttentionRows queries_, keys_;
  Value scale_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_attention_loops(const Operation& operation,
                                                           const InputTable& inputs) {
  return prepare_loops<AttentionLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
