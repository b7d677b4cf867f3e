// Tensors in another layout, another data type, or both.
#include <algorithm>
#include <type_traits>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "operation/convert.hpp"

namespace jitterscope::cpu {
namespace {

template <class To, class From>
typename To::Stored converted(typename From::Stored value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else {
    return To::write(static_cast<typename To::Value>(From::read(value)));
  }
}

// The matrices' rows stand so far apart that a tile's lines are read once, and stay in the cache meanwhile.
constexpr std::int64_t kConvertTile = 32;

template <class To, class From>
void transpose_tile(typename To::Stored* y, const typename From::Stored* x, std::int64_t rows,
                    std::int64_t columns, std::int64_t first_row, std::int64_t first_column) {
  const std::int64_t last_row = std::min(first_row + kConvertTile, rows);
  const std::int64_t last_column = std::min(first_column + kConvertTile, columns);
  for (std::int64_t column = first_column; column < last_column; ++column) {
    for (std::int64_t row = first_row; row < last_row; ++row) {
      y[column * rows + row] = converted<To, From>(x[row * columns + column]);
    }
  }
}

template <class From, class To>
class ConvertLoops final : public CpuOperation {
 public:
  ConvertLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), convert_(std::get<Convert>(operation.parameters())) {}

  void run(NativeQueue) override { moves_elements(convert_) ? transpose() : convert_in_order(); }

 private:
  void convert_in_order() const {
    const auto* x = data<const typename From::Stored>(0);
    auto* y = data<typename To::Stored>(1);
    const std::int64_t count = convert_.n * convert_.c * convert_.h * convert_.w;
#pragma omp parallel for simd schedule(static) if (count > kParallel)
    for (std::int64_t i = 0; i < count; ++i) y[i] = converted<To, From>(x[i]);
  }

  // Each image is a matrix, c·(h·w) in NCHW.
  void transpose() const {
    const auto* x = data<const typename From::Stored>(0);
    auto* y = data<typename To::Stored>(1);
    const std::int64_t area = convert_.h * convert_.w, image = convert_.c * area;
    const std::int64_t columns = convert_.from == Layout::nchw ? area : convert_.c, rows = image / columns;
    const std::int64_t across = (columns + kConvertTile - 1) / kConvertTile;
    const std::int64_t tiles = (rows + kConvertTile - 1) / kConvertTile * across;
#pragma omp parallel for schedule(static) if (convert_.n * image > kParallel)
    for (std::int64_t i = 0; i < convert_.n * tiles; ++i) {
      const std::int64_t first = i / tiles * image, tile = i % tiles;
      transpose_tile<To, From>(y + first, x + first, rows, columns, tile / across * kConvertTile,
                               tile % across * kConvertTile);
    }
  }

  Convert convert_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_convert(const Operation& operation, const InputTable& inputs) {
  const auto& convert = std::get<Convert>(operation.parameters());
  return with_loop_format(convert.dtype, [&]<class From>(From) {
    return with_loop_format(convert.to_dtype, [&]<class To>(To) -> std::unique_ptr<PreparedOperation> {
      return std::make_unique<ConvertLoops<From, To>>(operation, inputs);
    });
  });
}

}  // namespace jitterscope::cpu
