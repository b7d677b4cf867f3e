#include "operation/kinds_elementwise.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "operation/kinds.hpp"

namespace jitterscope::kinds {
namespace {

// An addition, multiplication, division, comparison, exponential, erf or tanh counts as one operation; a
// change of sign is free. The kernels' real instructions for the last three differ between devices.
struct Facts {
  std::string_view name, summary;
  std::vector<const char*> inputs;
  double flops_per_element = 0;
};

const Facts& facts(ElementwiseKind kind) {
  // Indexed by ElementwiseKind.
  static const std::array<Facts, 15> all = {{
      {"fill", "writes ones, y = 1", {}, 0},
      {"add", "element by element, y = a + b", {"a", "b"}, 1},
      {"mul", "element by element, y = a * b", {"a", "b"}, 1},
      {"relu", "element by element, y = max(x, 0)", {"x"}, 1},
      {"relu6", "element by element, y = min(max(x, 0), 6)", {"x"}, 2},
      {"sigmoid", "element by element, y = 1 / (1 + exp(-x))", {"x"}, 3},
      {"tanh", "element by element, y = tanh(x)", {"x"}, 1},
      {"silu", "element by element, y = x / (1 + exp(-x))", {"x"}, 3},
      {"gelu", "element by element, y = x/2 * (1 + erf(x/sqrt(2)))", {"x"}, 5},
      {"relu_backward", "dx = dy where y > 0, else 0", {"dy", "y"}, 1},
      {"relu6_backward", "dx = dy where 0 < x < 6, else 0", {"dy", "x"}, 2},
      {"sigmoid_backward", "dx = dy * y * (1 - y)", {"dy", "y"}, 3},
      {"tanh_backward", "dx = dy * (1 - y^2)", {"dy", "y"}, 3},
      {"silu_backward", "dx = dy * s * (1 + x * (1 - s)), s = sigmoid(x)", {"dy", "x"}, 8},
      {"gelu_backward", "dx = dy * (cdf(x) + x * pdf(x)) of the normal distribution", {"dy", "x"}, 11},
  }};
  return all.at(static_cast<std::size_t>(kind));
}

template <ElementwiseKind Which>
Operation::Parameters read_elementwise(const ParameterReader& reader) {
  Elementwise elementwise;
  elementwise.kind = Which;
  reader.require("count", elementwise.count);
  reader.read("dtype", elementwise.dtype);
  return elementwise;
}

template <ElementwiseKind Which>
Kind kind() {
  const std::string name(facts(Which).name);
  return {
      {name,
       std::string(facts(Which).summary),
       name + ":count=64Mi,dtype=f16",
       {{"count",
         "elements; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024) behind it",
         ""},
        {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"}}},
      read_elementwise<Which>};
}

}  // namespace

std::string_view name(const Elementwise& elementwise) { return facts(elementwise.kind).name; }

void check(const Elementwise& elementwise) {
  check_range(name(elementwise), "count", elementwise.count, 1, kLargestCount);
}

void write(const Elementwise& elementwise, ParameterWriter& writer) {
  writer.write("count", elementwise.count);
  writer.write("dtype", elementwise.dtype);
}

double flops(const Elementwise& elementwise) {
  return facts(elementwise.kind).flops_per_element * static_cast<double>(elementwise.count);
}

std::vector<Operand> operands(const Elementwise& elementwise) {
  const Facts& known = facts(elementwise.kind);
  std::vector<Operand> result;
  for (const char* input : known.inputs) {
    result.push_back({input, OperandRole::input, elementwise.dtype, elementwise.count});
  }
  const bool backward = elementwise.kind >= ElementwiseKind::relu_backward;
  result.push_back({backward ? "dx" : "y", OperandRole::output, elementwise.dtype, elementwise.count});
  return result;
}

std::vector<Kind> elementwise() {
  using enum ElementwiseKind;
  return {kind<fill>(),
          kind<add>(),
          kind<mul>(),
          kind<relu>(),
          kind<relu6>(),
          kind<sigmoid>(),
          kind<tanh>(),
          kind<silu>(),
          kind<gelu>(),
          kind<relu_backward>(),
          kind<relu6_backward>(),
          kind<sigmoid_backward>(),
          kind<tanh_backward>(),
          kind<silu_backward>(),
          kind<gelu_backward>()};
}

namespace {

template <OptimizerKind Which>
Operation::Parameters read_optimizer_step(const ParameterReader& reader) {
  OptimizerStep step;
  step.kind = Which;
  reader.require("count", step.count);
  reader.read("dtype", step.dtype);
  return step;
}

OperationHelp optimizer_step_help(const std::string& kind, const std::string& summary) {
  return {
      kind,
      summary,
      kind + ":count=25Mi,dtype=f32",
      {{"count",
        "parameters; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024) behind it",
        ""},
       {"dtype", "f64, f32, tf32 (as f32), f16 or bf16, of all tensors", "f32"}}};
}

bool is_adam(const OptimizerStep& step) {
  return step.kind == OptimizerKind::adam || step.kind == OptimizerKind::adamw;
}

}  // namespace

std::string_view name(const OptimizerStep& step) {
  switch (step.kind) {
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::momentum: return "momentum";
    case OptimizerKind::adam: return "adam";
    case OptimizerKind::adamw: return "adamw";
  }
  return "?";
}

void check(const OptimizerStep& step) { check_range(name(step), "count", step.count, 1, kLargestCount); }

void write(const OptimizerStep& step, ParameterWriter& writer) {
  writer.write("count", step.count);
  writer.write("dtype", step.dtype);
}

// Operations for each parameter; the bias corrections are made once. sgd: the step 2. momentum: decay and sum
// 2 more. adam: mean 3, square 4, denominator 3, step 3. adamw: decay 1 more.
double flops(const OptimizerStep& step) {
  const auto count = static_cast<double>(step.count);
  switch (step.kind) {
    case OptimizerKind::sgd: return 2.0 * count;
    case OptimizerKind::momentum: return 4.0 * count;
    case OptimizerKind::adam: return 13.0 * count;
    case OptimizerKind::adamw: return 14.0 * count;
  }
  return 0.0;
}

std::vector<Operand> operands(const OptimizerStep& step) {
  std::vector<const char*> state = {"parameter"};
  std::vector<Operand> result = {{"parameter", OperandRole::input, step.dtype, step.count},
                                 {"gradient", OperandRole::input, step.dtype, step.count}};
  const auto add_input = [&](const char* operand_name) {
    result.push_back({operand_name, OperandRole::input, step.dtype, step.count});
    state.push_back(operand_name);
  };
  if (step.kind == OptimizerKind::momentum) add_input("momentum");
  if (is_adam(step)) {
    add_input("mean");
    add_input("square");
    result.back().non_negative = true;
  }
  for (const char* changed : state) {
    result.push_back({std::string("new_") + changed, OperandRole::output, step.dtype, step.count});
  }
  return result;
}

std::vector<Kind> optimizer_steps() {
  return {
      {optimizer_step_help("sgd", "one step of gradient descent, as torch.optim.SGD"),
       read_optimizer_step<OptimizerKind::sgd>},
      {optimizer_step_help("momentum", "one step of torch.optim.SGD with momentum 0.9"),
       read_optimizer_step<OptimizerKind::momentum>},
      {optimizer_step_help("adam", "one step of torch.optim.Adam"), read_optimizer_step<OptimizerKind::adam>},
      {optimizer_step_help("adamw", "one step of torch.optim.AdamW"),
       read_optimizer_step<OptimizerKind::adamw>}};
}

namespace {

Operation::Parameters read_copy(const ParameterReader& reader) {
  Copy copy;
  reader.require("bytes", copy.bytes);
  reader.read("kind", copy.kind);
  reader.read("memory", copy.memory);
  std::string node = "any";
  reader.read("node", node);
  if (node != "any") reader.read("node", copy.node);
  return copy;
}

}  // namespace

std::string_view name(const Copy&) { return "copy"; }

void check(const Copy& copy) {
  check_range("copy", "bytes", copy.bytes, 4, kLargestCount);
  check_range("copy", "node", copy.node, -1, 1023);
  if (copy.kind == CopyKind::d2d && copy.node >= 0)
    throw UsageError("copy: node= is of the host's memory, and kind=d2d copies on the device alone");
  if (copy.bytes % 4 == 0) return;
  throw UsageError(fmt::format(
      "copy: bytes={} is not a multiple of 4; what is copied is checked as f32 elements", copy.bytes));
}

void write(const Copy& copy, ParameterWriter& writer) {
  writer.write("bytes", copy.bytes);
  writer.write("kind", copy.kind);
  writer.write_unless(HostMemory::pinned, "memory", copy.memory);
  writer.write_unless(std::int64_t{-1}, "node", copy.node);
}

double flops(const Copy&) { return 0.0; }

std::vector<Operand> operands(const Copy& copy) {
  const std::int64_t count = copy.bytes / element_size(DataType::f32).value();
  return {{"source", OperandRole::input, DataType::f32, count},
          {"destination", OperandRole::output, DataType::f32, count}};
}

Kind copy() {
  return {
      {"copy",
       "memory to memory, on the device or between host and device",
       "copy:bytes=1Gi,kind=d2d",
       {{"bytes",
         "size, a multiple of 4; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of "
         "1024) behind it, and B: 1GiB",
         ""},
        {"kind", "d2d (on the device), h2d (host to device) or d2h (back)", "d2d"},
        {"memory",
         "how the host side is allocated: pinned or pageable; registered (pageable, page-locked later, once), "
         "registered_anew (in each launch), mapped (a kernel copies, over the bus)",
         "pinned"},
        {"node", "NUMA node of the host's memory, or any: where the system places it", "any"}}},
      read_copy};
}

}  // namespace jitterscope::kinds

namespace jitterscope {

DataType coarser_type(DataType one, DataType other) {
  // Digits: bf16 has 8, f16 and tf32 11, f32 24, f64 53.
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
  // Each image is a matrix, c·(h·w) in NCHW, and is transposed.
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

// Returns the type in which a type is stored.
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

// If the layout stays, only the number of elements counts.
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
    throw UsageError(
        fmt::format("convert: from {} to {} in the same layout nothing changes; give another to_dtype, or "
                    "from=nchw,to=nhwc",
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

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_allocation(const ParameterReader& reader) {
  Allocation allocation;
  reader.read("pattern", allocation.pattern);
  if (!allocation.pattern.empty()) {
    if (reader.has("bytes") || reader.has("count")) {
      reader.fail("pattern is given beside bytes or count, which it has itself; give one or the other");
    }
  } else if (reader.has("bytes")) {
    reader.read("bytes", allocation.bytes);
    reader.read("count", allocation.count);
  } else {
    reader.fail_missing("bytes (or pattern)");
  }
  reader.read("by", allocation.by);
  reader.read("touch", allocation.touch);
  return allocation;
}

}  // namespace

std::string_view name(const Allocation&) { return "allocation"; }

void check(const Allocation& allocation) {
  constexpr std::int64_t kMostBlocks = 1 << 16;
  if (allocation.pattern.empty()) {
    check_range("allocation", "bytes", allocation.bytes, 1, kLargestCount);
    check_range("allocation", "count", allocation.count, 1, kMostBlocks);
    if (limited_product({allocation.bytes, allocation.count}) > kLargestOperandBytes) {
      throw UsageError("allocation: the blocks together take more than 64 TiB; make them smaller or fewer");
    }
  } else if (allocation.bytes != 0 || allocation.count != 1) {
    throw UsageError("allocation: a pattern has blocks of its own; leave out bytes and count");
  }
  if (allocation.pattern.find_first_of(",=") == std::string::npos) return;
  throw UsageError(
      fmt::format("allocation: the name of the pattern {} has a comma or an equals sign; rename the file",
                  in_quotes(allocation.pattern)));
}

void write(const Allocation& allocation, ParameterWriter& writer) {
  const Allocation usual;
  if (allocation.pattern.empty()) {
    writer.write("bytes", allocation.bytes);
    writer.write_unless(usual.count, "count", allocation.count);
  } else {
    writer.write("pattern", allocation.pattern);
  }
  writer.write("by", allocation.by);
  writer.write_unless(usual.touch, "touch", allocation.touch);
}

double flops(const Allocation&) { return 0.0; }

std::vector<Operand> operands(const Allocation&) { return {}; }

Kind allocation() {
  return {
      {"allocation",
       "allocates, fills and frees memory in each launch, as a program does",
       "allocation:bytes=64Mi,count=4,by=cache",
       {{"bytes", "size of a block; as every number with k, M, G, T or Ki, Mi, Gi, Ti behind it", ""},
        {"count", "blocks that are there at once", "1"},
        {"pattern",
         "in place of bytes and count, a file of events, one a line: alloc NAME BYTES, or free NAME; "
         "@sequences is one of sequences of many lengths",
         ""},
        {"by",
         "malloc (cuMemAlloc on a GPU), pool (stream-ordered), pool_kept (that gives nothing back), cache (as "
         "PyTorch's allocator), expandable (that, over one range of addresses) or preallocated",
         "malloc"},
        {"touch", "1 fills each block, 0 leaves it as it is", "1"}}},
      read_allocation};
}

namespace {

std::string_view amount_name(const Spin& spin) {
  return spin.unit == Spin::Unit::nanoseconds ? "ns" : "cycles";
}

Operation::Parameters read_spin(const ParameterReader& reader) {
  Spin spin;
  if (reader.has("ns") && reader.has("cycles")) reader.fail("ns and cycles are both given; give one of them");
  if (!reader.has("ns") && !reader.has("cycles")) reader.fail_missing("ns (or cycles)");
  if (reader.has("cycles")) spin.unit = Spin::Unit::cycles;
  reader.read(amount_name(spin), spin.amount);
  reader.read("blocks", spin.blocks);
  reader.read("threads", spin.threads);
  return spin;
}

}  // namespace

std::string_view name(const Spin&) { return "spin"; }

void check(const Spin& spin) {
  constexpr std::int64_t kLargestBlock = 1024;  // CUDA's limit on every architecture
  // Zero is an empty kernel: the shortest possible launch.
  check_range("spin", amount_name(spin), spin.amount, 0, kLargestDimension);
  check_range("spin", "blocks", spin.blocks, 1, kLargestDimension);
  check_range("spin", "threads", spin.threads, 1, kLargestBlock);
}

void write(const Spin& spin, ParameterWriter& writer) {
  const Spin usual;
  writer.write(amount_name(spin), spin.amount);
  writer.write_unless(usual.blocks, "blocks", spin.blocks);
  writer.write_unless(usual.threads, "threads", spin.threads);
}

double flops(const Spin&) { return 0.0; }

std::vector<Operand> operands(const Spin&) { return {}; }

Kind spin() {
  return {{"spin",
           "waits for a known time or number of cycles, to check the instruments",
           "spin:ns=10000,blocks=132",
           {{"ns", "nanoseconds that each block waits", ""},
            {"cycles", "cycles of the processor's clock, in place of ns", "ns"},
            {"blocks", "blocks of threads", "1"},
            {"threads", "threads in a block, at most 1024", "32"}}},
          read_spin};
}

}  // namespace jitterscope::kinds
