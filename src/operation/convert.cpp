#include "operation/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope {

DataType coarser_type(DataType one, DataType other) {
  // By digits: bf16 has 8, f16 and tf32 11, f32 24, f64 53.
  for (const DataType type : {DataType::bf16, DataType::f16, DataType::tf32, DataType::f32}) {
    if (one == type || other == type) return type;
  }
  return one;
}

bool moves_elements(const Convert& convert) {
  return convert.from != convert.to && convert.c > 1 && convert.h * convert.w > 1;
}

std::int64_t source_index(const Convert& convert, std::int64_t index) {
  if (!moves_elements(convert)) return index;
  // Each image is a matrix, c·(h·w) in NCHW, which is transposed.
  const std::int64_t area = convert.h * convert.w, image = convert.c * area;
  const std::int64_t columns = convert.to == Layout::nchw ? area : convert.c, rows = image / columns;
  const std::int64_t place = index % image;
  return index - place + place % columns * rows + place / columns;
}

std::int64_t target_index(const Convert& convert, std::int64_t index) {
  Convert back = convert;
  std::swap(back.from, back.to);
  return source_index(back, index);
}

namespace kinds {
namespace {

// A type that is stored as another one.
DataType stored_type(DataType type) { return type == DataType::tf32 ? DataType::f32 : type; }

void read_images(const ParameterReader& reader, Convert& convert) {
  reader.require("n", convert.n);
  reader.require("c", convert.c);
  reader.require_both("hw", "h", convert.h, "w", convert.w);
  reader.read("from", convert.from);
  convert.to = convert.from;
  reader.read("to", convert.to);
}

Operation::Parameters read_convert(const ParameterReader& reader) {
  Convert convert;
  if (reader.has("count")) {
    for (const char* name : {"n", "c", "hw", "h", "w", "from", "to"}) {
      if (!reader.has(name)) continue;
      reader.fail(fmt::format(
          "count is given beside {}; give count where the type changes alone, or n, c and hw for images",
          name));
    }
    reader.read("count", convert.w);
  } else if (!reader.has("n") && !reader.has("c")) {
    reader.fail_missing("count, or n, c and hw,");
  } else {
    read_images(reader, convert);
  }
  reader.read("dtype", convert.dtype);
  convert.to_dtype = convert.dtype;
  reader.read("to_dtype", convert.to_dtype);
  return convert;
}

std::int64_t elements(const Convert& convert) {
  return limited_product({convert.n, convert.c, convert.h, convert.w});
}

}  // namespace

std::string_view name(const Convert&) { return "convert"; }

// Without another layout images are nothing but their elements.
void normalize(Convert& convert) {
  if (convert.from != convert.to) return;
  const bool is_possible = std::min({convert.n, convert.c, convert.h, convert.w}) > 0;
  if (is_possible) {
    convert.w = elements(convert);
    convert.n = convert.c = convert.h = 1;
  }
  convert.from = convert.to = Layout::nchw;
}

void check(const Convert& convert) {
  check_computes_in("convert", "to_dtype", convert.to_dtype);
  const bool is_flat = convert.from == convert.to && convert.n == 1 && convert.c == 1 && convert.h == 1;
  check_range("convert", "n", convert.n, 1, kLargestDimension);
  check_range("convert", "c", convert.c, 1, kLargestDimension);
  check_range("convert", "h", convert.h, 1, kLargestDimension);
  check_range("convert", is_flat ? "count" : "w", convert.w, 1, kLargestCount);
  if (is_flat && stored_type(convert.dtype) == stored_type(convert.to_dtype)) {
    throw UsageError(fmt::format(
        "convert: from {} to {} in the same layout nothing changes; give another to_dtype, or from=nchw,to=nhwc",
        to_string(convert.dtype), to_string(convert.to_dtype)));
  }
}

void write(const Convert& convert, ParameterWriter& writer) {
  if (convert.from == convert.to) {
    writer.write("count", convert.w);
  } else {
    writer.write("n", convert.n);
    writer.write("c", convert.c);
    writer.write_both("hw", "h", convert.h, "w", convert.w);
    writer.write("from", convert.from);
    writer.write("to", convert.to);
  }
  writer.write("dtype", convert.dtype);
  writer.write_unless(convert.dtype, "to_dtype", convert.to_dtype);
}

double flops(const Convert&) { return 0.0; }

std::vector<Operand> operands(const Convert& convert) {
  return {{"x", OperandRole::input, convert.dtype, elements(convert)},
          {"y", OperandRole::output, convert.to_dtype, elements(convert)}};
}

Kind convert() {
  return {{"convert",
           "into another layout, data type or both, as PyTorch's to() and contiguous()",
           "convert:n=32,c=64,hw=56,from=nchw,to=nhwc,dtype=f16",
           {{"n", "batch size", ""},
            {"c", "channels", ""},
            {"hw", "height and width", ""},
            {"h", "height, with w in place of hw", "hw"},
            {"w", "width, with h in place of hw", "hw"},
            {"count", "elements, in place of n, c and hw, where the type changes alone", "hw"},
            {"from", "layout before: nchw or nhwc (PyTorch: channels_last)", "nchw"},
            {"to", "layout behind: nchw or nhwc", "from"},
            {"dtype", "type before: f64, f32, tf32 (as f32), f16 or bf16", "f32"},
            {"to_dtype", "type behind: f64, f32, tf32 (as f32), f16 or bf16", "dtype"}}},
          read_convert};
}

}  // namespace kinds
}  // namespace jitterscope
