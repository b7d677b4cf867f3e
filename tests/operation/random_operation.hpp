// Operations drawn at random, with every parameter away from its default now and then.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "base/random.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope::testing {

class RandomOperation {
 public:
  explicit RandomOperation(std::uint64_t seed) : random_(seed) {}

  Operation next() { return Operation(parameters()); }

  Operation::Parameters parameters() {
    switch (random_.below(17)) {
      case 0: return conv2d(64);
      case 1: return matmul(5000);
      case 2: return Linear{number(5000), number(5000), number(5000), flag(), dtype()};
      case 3:
        return Copy{4 * number(1 << 20), pick({CopyKind::d2d, CopyKind::h2d, CopyKind::d2h}),
                    pick({HostMemory::pinned, HostMemory::pageable, HostMemory::registered,
                          HostMemory::registered_anew, HostMemory::mapped})};
      case 4: return Elementwise{elementwise_kind(), number(1 << 20), dtype()};
      case 5: return batch_norm(64);
      case 6: return pool2d(64);
      case 7: return Softmax{flag(), number(5000), number(5000), dtype(), training_pass()};
      case 8: return LayerNorm{number(5000), number(5000), dtype(), training_pass()};
      case 9: return bias_add(64);
      case 10: return Embedding{number(5000), number(5000), number(5000), dtype(), training_pass()};
      case 11: return OptimizerStep{optimizer_kind(), number(1 << 20), dtype()};
      case 12: return attention(64);
      case 13:
        return Allocation{number(1 << 20), number(5000),
                          pick({Allocator::malloc, Allocator::pool, Allocator::pool_kept, Allocator::cache,
                                Allocator::expandable, Allocator::preallocated}),
                          flag()};
      case 14: return convert(64);
      case 15: return collective();
      default:
        return Spin{pick({Spin::Unit::nanoseconds, Spin::Unit::cycles}), number(1'000'000), number(1000),
                    number(1024)};
    }
  }

  /// Each size at most `largest`; the filter always fits.
  Conv2d conv2d(std::int64_t largest) {
    Conv2d conv;
    conv.groups = number(3);
    conv.n = number(largest);
    conv.c = conv.groups * number(largest);
    conv.k = conv.groups * number(largest);
    conv.r = number(4), conv.s = flag() ? conv.r : number(4);
    conv.stride_h = number(3), conv.stride_w = flag() ? conv.stride_h : number(3);
    conv.pad_h = number(4) - 1, conv.pad_w = flag() ? conv.pad_h : number(4) - 1;
    conv.dilation_h = number(3), conv.dilation_w = flag() ? conv.dilation_h : number(3);
    conv.h = conv.dilation_h * (conv.r - 1) + number(largest);
    conv.w = flag() ? conv.h + conv.dilation_w * conv.s : conv.dilation_w * (conv.s - 1) + number(largest);
    conv.dtype = dtype();
    conv.layout = layout();
    conv.direction = pick({Direction::fprop, Direction::dgrad, Direction::wgrad});
    return conv;
  }

  Collective collective() {
    Collective drawn{
        .kind = pick({CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                      CollectiveKind::broadcast, CollectiveKind::reduce, CollectiveKind::all_to_all,
                      CollectiveKind::send_recv, CollectiveKind::send}),
        .dtype = dtype(),
        .op = pick({Reduction::sum, Reduction::prod, Reduction::max, Reduction::min, Reduction::avg})};
    if (flag()) drawn.ranks = number(64);
    drawn.count = number(1 << 20) * std::max<std::int64_t>(1, drawn.ranks);
    if (drawn.kind == CollectiveKind::send) drawn.ranks = std::max<std::int64_t>(2, drawn.ranks);
    drawn.root = number(std::max<std::int64_t>(1, drawn.ranks)) - 1;
    drawn.to = drawn.root == 0 ? 1 : drawn.root - 1;
    drawn.in_place =
        drawn.kind != CollectiveKind::all_to_all && drawn.kind != CollectiveKind::send_recv && flag();
    return drawn;
  }

  BatchNorm batch_norm(std::int64_t largest) {
    BatchNorm norm{number(largest), number(largest), number(largest)};
    norm.w = flag() ? norm.h : number(largest);
    norm.dtype = dtype();
    norm.layout = layout();
    norm.pass = pick({Pass::forward, Pass::backward, Pass::inference});
    if (element_size(norm.dtype) == Bytes(2) && flag()) norm.weights = norm.dtype;
    return norm;
  }

  BiasAdd bias_add(std::int64_t largest) {
    return {number(largest), number(largest), number(largest), number(largest), dtype(), layout()};
  }

  /// Into the other layout, or of another type at least.
  Convert convert(std::int64_t largest) {
    Convert convert{number(largest), number(largest), number(largest), number(largest)};
    convert.from = layout();
    convert.to = layout();
    convert.dtype = pick({DataType::f64, DataType::f32, DataType::tf32, DataType::f16});
    convert.to_dtype = convert.from == convert.to || flag() ? DataType::bf16 : convert.dtype;
    return convert;
  }

  /// Each size at most `largest` more than the window.
  Pool2d pool2d(std::int64_t largest) {
    Pool2d pool;
    pool.kind = pick({PoolKind::max, PoolKind::average});
    pool.n = number(largest), pool.c = number(largest);
    pool.window_h = number(4), pool.window_w = flag() ? pool.window_h : number(4);
    pool.stride_h = flag() ? pool.window_h : number(4), pool.stride_w = flag() ? pool.window_w : number(4);
    pool.pad_h = number(pool.window_h / 2 + 1) - 1, pool.pad_w = number(pool.window_w / 2 + 1) - 1;
    pool.h = pool.window_h - 1 + number(largest);
    pool.w = flag() ? pool.h + pool.window_w : pool.window_w - 1 + number(largest);
    pool.dtype = dtype();
    pool.layout = layout();
    pool.pass = training_pass();
    return pool;
  }

  Attention attention(std::int64_t largest) {
    Attention attention{number(4), number(4), number(largest)};
    attention.kv_heads = attention.heads;
    if (flag()) attention.heads *= number(3);
    attention.keys = flag() ? attention.queries : number(largest);
    attention.dim = number(largest);
    attention.causal = flag();
    attention.layout = static_cast<HeadLayout>(random_.below(3));
    attention.dtype = dtype();
    attention.pass = training_pass();
    return attention;
  }

  ElementwiseKind elementwise_kind() {
    return static_cast<ElementwiseKind>(
        random_.below(static_cast<std::uint64_t>(ElementwiseKind::gelu_backward) + 1));
  }
  OptimizerKind optimizer_kind() {
    return pick({OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::adam, OptimizerKind::adamw});
  }
  Pass training_pass() { return pick({Pass::forward, Pass::backward}); }
  Layout layout() { return pick({Layout::nchw, Layout::nhwc}); }

  Matmul matmul(std::int64_t largest) {
    return {number(largest), number(largest), number(largest), number(4), flag(), flag(), flag(), dtype()};
  }

  std::int64_t number(std::int64_t largest) {
    return 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(largest)));
  }
  bool flag() { return random_.below(2) == 1; }
  double normal() { return random_.normal(); }

 private:
  template <class Value>
  Value pick(std::initializer_list<Value> values) {
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(random_.below(values.size())));
  }
  DataType dtype() {
    return pick({DataType::f64, DataType::f32, DataType::tf32, DataType::f16, DataType::bf16});
  }

  Random random_;
};

}  // namespace jitterscope::testing
