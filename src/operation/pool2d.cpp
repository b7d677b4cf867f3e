#include <fmt/format.h>

#include <utility>

#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope {
namespace {

template <PoolKind Which>
Operation::Parameters read_pool2d(const ParameterReader& reader) {
  Pool2d pool;
  pool.kind = Which;
  reader.require("n", pool.n);
  reader.require("c", pool.c);
  reader.require_both("hw", "h", pool.h, "w", pool.w);
  reader.require_pair("window", pool.window_h, pool.window_w);
  pool.stride_h = pool.window_h;
  pool.stride_w = pool.window_w;
  reader.read_pair("stride", pool.stride_h, pool.stride_w);
  reader.read_pair("pad", pool.pad_h, pool.pad_w);
  reader.read("dtype", pool.dtype);
  reader.read("layout", pool.layout);
  reader.read("pass", pool.pass);
  return pool;
}

OperationHelp pool2d_help(const std::string& kind, const std::string& summary) {
  return {kind,
          summary,
          kind + ":n=32,c=64,hw=112,window=3,stride=2,pad=1,dtype=f16,layout=nhwc",
          {{"n", "batch size", ""},
           {"c", "channels", ""},
           {"hw", "input height and width", ""},
           {"h", "input height, with w in place of hw", "hw"},
           {"w", "input width, with h in place of hw", "hw"},
           {"window", "size of the window; 3, or 3x2 for height x width", ""},
           {"stride", "step of the window; 2, or 2x1", "window"},
           {"pad", "elements around the input on each side, at most half the window; 1, or 1x0", "0"},
           {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"},
           {"layout", "nchw or nhwc (PyTorch: channels_last)", "nchw"},
           {"pass", "forward or backward", "forward"}}};
}

// As PyTorch requires, so that no window lies wholly on padding.
void check_side(std::string_view kind, std::int64_t size, std::int64_t window, std::int64_t pad) {
  if (pad > window / 2) {
    throw UsageError(
        fmt::format("{}: pad={} is more than half of window={}; make pad smaller", kind, pad, window));
  }
  if (window > size + 2 * pad) {
    throw UsageError(
        fmt::format("{}: window={} is larger than the padded input of {}; make hw larger or window smaller",
                    kind, window, size + 2 * pad));
  }
}

}  // namespace

std::int64_t Pool2d::out_h() const { return (h + 2 * pad_h - window_h) / stride_h + 1; }
std::int64_t Pool2d::out_w() const { return (w + 2 * pad_w - window_w) / stride_w + 1; }

namespace kinds {

std::string_view name(const Pool2d& pool) { return pool.kind == PoolKind::max ? "max_pool" : "avg_pool"; }

void check(const Pool2d& pool) {
  const std::pair<std::string_view, std::int64_t> positive[] = {
      {"n", pool.n},
      {"c", pool.c},
      {"h", pool.h},
      {"w", pool.w},
      {"window", pool.window_h},
      {"window", pool.window_w},
      {"stride", pool.stride_h},
      {"stride", pool.stride_w},
  };
  for (const auto& [parameter, value] : positive) {
    check_range(name(pool), parameter, value, 1, kLargestDimension);
  }
  check_range(name(pool), "pad", pool.pad_h, 0, kLargestDimension);
  check_range(name(pool), "pad", pool.pad_w, 0, kLargestDimension);
  check_side(name(pool), pool.h, pool.window_h, pool.pad_h);
  check_side(name(pool), pool.w, pool.window_w, pool.pad_w);
  check_pass(name(pool), pool.pass);
}

void write(const Pool2d& pool, ParameterWriter& writer) {
  writer.write("n", pool.n);
  writer.write("c", pool.c);
  writer.write_both("hw", "h", pool.h, "w", pool.w);
  writer.write_pair("window", pool.window_h, pool.window_w);
  if (pool.stride_h != pool.window_h || pool.stride_w != pool.window_w) {
    writer.write_pair("stride", pool.stride_h, pool.stride_w);
  }
  writer.write_pair_unless(0, "pad", pool.pad_h, pool.pad_w);
  writer.write("dtype", pool.dtype);
  writer.write("layout", pool.layout);
  writer.write_unless(Pass::forward, "pass", pool.pass);
}

// A comparison or an addition for each element of each window, those on padding too; the average's division
// stands for its first addition. Backward: each window's gradient is added where it belongs, which of max is
// one place.
double flops(const Pool2d& pool) {
  const double outputs = static_cast<double>(pool.n) * static_cast<double>(pool.c) *
                         static_cast<double>(pool.out_h()) * static_cast<double>(pool.out_w());
  if (pool.kind == PoolKind::max && pool.pass == Pass::backward) return outputs;
  return outputs * static_cast<double>(pool.window_h) * static_cast<double>(pool.window_w);
}

std::vector<Operand> operands(const Pool2d& pool) {
  using enum OperandRole;
  const std::int64_t x = limited_product({pool.n, pool.c, pool.h, pool.w});
  const std::int64_t y = limited_product({pool.n, pool.c, pool.out_h(), pool.out_w()});
  const bool backward = pool.pass == Pass::backward;
  std::vector<Operand> result = {{backward ? "dy" : "x", input, pool.dtype, backward ? y : x},
                                 {backward ? "dx" : "y", output, pool.dtype, backward ? x : y}};
  if (pool.kind == PoolKind::average) return result;
  const Operand indices{"indices", backward ? input : output, DataType::i64, y,
                        limited_product({pool.h, pool.w})};
  result.insert(backward ? result.begin() + 1 : result.end(), indices);
  return result;
}

std::vector<Kind> pools() {
  return {{pool2d_help("max_pool", "the largest of each window, as torch.nn.MaxPool2d"),
           read_pool2d<PoolKind::max>},
          {pool2d_help("avg_pool", "the average of each window, as torch.nn.AvgPool2d"),
           read_pool2d<PoolKind::average>}};
}

}  // namespace kinds
}  // namespace jitterscope
