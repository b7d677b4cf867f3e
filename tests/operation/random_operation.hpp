// Operations drawn at random, with every parameter away from its default now and then.
#pragma once

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
    switch (random_.below(6)) {
      case 0: return conv2d(64);
      case 1: return matmul(5000);
      case 2: return Linear{number(5000), number(5000), number(5000), flag(), dtype()};
      case 3:
        return Copy{4 * number(1 << 20), pick({CopyKind::d2d, CopyKind::h2d, CopyKind::d2h}),
                    pick({HostMemory::pinned, HostMemory::pageable})};
      case 4:
        return Elementwise{pick({ElementwiseKind::fill, ElementwiseKind::add, ElementwiseKind::relu}),
                           number(1 << 20), dtype()};
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
    conv.layout = pick({Layout::nchw, Layout::nhwc});
    conv.direction = pick({Direction::fprop, Direction::dgrad, Direction::wgrad});
    return conv;
  }

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
