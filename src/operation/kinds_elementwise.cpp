#include "operation/kinds_elementwise.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "operation/kinds.hpp"

namespace jitterscope::kinds {
namespace {

// An addition, multiplication, division, comparison, exponential, erf or tanh counts as one operation; a
// change of sign is free. The kernels' real instructions for the last three differ between devices.
struct Facts {
  std::string name, summary;
  std::vector<const char*> inputs;
  double flops_per_element = 0;
  ElementwiseOperator in_pytorch = {};
};

// Indexed by ElementwiseKind.
const std::vector<Facts>& all_facts() {
  static const std::vector<Facts> all = {
      {"fill", "writes ones, y = 1", {}, 0},
      {"add", "element by element, y = a + b", {"a", "b"}, 1, {"aten::add.Tensor", {1}}},
      {"mul", "element by element, y = a * b", {"a", "b"}, 1, {"aten::mul.Tensor"}},
      {"relu", "element by element, y = max(x, 0)", {"x"}, 1, {"aten::relu"}},
      {"relu6", "element by element, y = min(max(x, 0), 6)", {"x"}, 2, {"aten::hardtanh", {0, 6}}},
      {"sigmoid", "element by element, y = 1 / (1 + exp(-x))", {"x"}, 3, {"aten::sigmoid"}},
      {"tanh", "element by element, y = tanh(x)", {"x"}, 1, {"aten::tanh"}},
      {"silu", "element by element, y = x / (1 + exp(-x))", {"x"}, 3, {"aten::silu"}},
      {"gelu", "element by element, y = x/2 * (1 + erf(x/sqrt(2)))", {"x"}, 5, {"aten::gelu"}},
      {"relu_backward", "dx = dy where y > 0, else 0", {"dy", "y"}, 1, {"aten::threshold_backward", {0}}},
      {"relu6_backward",
       "dx = dy where 0 < x < 6, else 0",
       {"dy", "x"},
       2,
       {"aten::hardtanh_backward", {0, 6}}},
      {"sigmoid_backward", "dx = dy * y * (1 - y)", {"dy", "y"}, 3, {"aten::sigmoid_backward"}},
      {"tanh_backward", "dx = dy * (1 - y^2)", {"dy", "y"}, 3, {"aten::tanh_backward"}},
      {"silu_backward",
       "dx = dy * s * (1 + x * (1 - s)), s = sigmoid(x)",
       {"dy", "x"},
       8,
       {"aten::silu_backward"}},
      {"gelu_backward",
       "dx = dy * (cdf(x) + x * pdf(x)) of the normal distribution",
       {"dy", "x"},
       11,
       {"aten::gelu_backward"}},
  };
  return all;
}

const Facts& facts(ElementwiseKind kind) { return all_facts().at(static_cast<std::size_t>(kind)); }

void describe(Elementwise& elementwise, Fields& fields) {
  fields.required(
      "count",
      "elements; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024) behind it",
      elementwise.count, {1, kLargestCount});
  fields.shown("dtype", kTypes, elementwise.dtype, DataType::f32);
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

std::vector<Named<Elementwise>> elementwise_words() {
  std::vector<Named<Elementwise>> words;
  for (const Facts& known : all_facts()) {
    const auto kind = static_cast<ElementwiseKind>(words.size());
    words.push_back({known.name, known.summary, known.name + ":count=64Mi,dtype=f16", {.kind = kind}});
  }
  return words;
}

}  // namespace
}  // namespace jitterscope::kinds

namespace jitterscope {

const ElementwiseOperator& pytorch_operator(ElementwiseKind kind) { return kinds::facts(kind).in_pytorch; }

}  // namespace jitterscope

namespace jitterscope::kinds {

const KindOf<Elementwise>& kind_of(const Elementwise&) {
  static const KindOf<Elementwise> kind = {
      .words = elementwise_words(),
      .place = [](const Elementwise& elementwise) { return static_cast<std::size_t>(elementwise.kind); },
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(OptimizerStep& step, Fields& fields) {
  fields.required(
      "count",
      "parameters; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024) behind it",
      step.count, {1, kLargestCount});
  fields.shown("dtype", "f64, f32, tf32 (as f32), f16 or bf16, of all tensors", step.dtype, DataType::f32);
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
  if (step.kind == OptimizerKind::adam || step.kind == OptimizerKind::adamw) {
    add_input("mean");
    add_input("square");
    result.back().non_negative = true;
  }
  for (const char* changed : state) {
    result.push_back({std::string("new_") + changed, OperandRole::output, step.dtype, step.count});
  }
  return result;
}

}  // namespace

const KindOf<OptimizerStep>& kind_of(const OptimizerStep&) {
  static const KindOf<OptimizerStep> kind = {
      // In the order of OptimizerKind.
      .words = {{"sgd", "one step of gradient descent, as torch.optim.SGD", "sgd:count=25Mi,dtype=f32",
                 OptimizerStep{.kind = OptimizerKind::sgd}},
                {"momentum", "one step of torch.optim.SGD with momentum 0.9", "momentum:count=25Mi,dtype=f32",
                 OptimizerStep{.kind = OptimizerKind::momentum}},
                {"adam", "one step of torch.optim.Adam", "adam:count=25Mi,dtype=f32",
                 OptimizerStep{.kind = OptimizerKind::adam}},
                {"adamw", "one step of torch.optim.AdamW", "adamw:count=25Mi,dtype=f32",
                 OptimizerStep{.kind = OptimizerKind::adamw}}},
      .place = [](const OptimizerStep& step) { return static_cast<std::size_t>(step.kind); },
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(Copy& copy, Fields& fields) {
  const Copy usual;
  fields.required(
      "bytes",
      "size, a multiple of 4; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of "
      "1024) behind it, and B: 1GiB",
      copy.bytes, {4, kLargestCount});
  fields.shown("kind", "d2d (on the device), h2d (host to device) or d2h (back)", copy.kind, usual.kind);
  fields.optional(
      "memory",
      "how the host side is allocated: pinned or pageable; registered (pageable, page-locked later, once), "
      "registered_anew (in each launch), mapped (a kernel copies, over the bus)",
      copy.memory, usual.memory);
  fields.optional("node", "NUMA node of the host's memory, or any: where the system places it", copy.node,
                  {usual.node, "any"}, {-1, 1023});
}

// A copy on the device has no host side.
void normalize(Copy& copy) {
  if (copy.kind == CopyKind::d2d) copy.memory = HostMemory::pinned;
}

void check(const Copy& copy) {
  if (copy.kind == CopyKind::d2d && copy.node >= 0)
    throw UsageError("copy: node= is of the host's memory, and kind=d2d copies on the device alone");
  if (copy.bytes % 4 == 0) return;
  throw UsageError(fmt::format(
      "copy: bytes={} is not a multiple of 4; what is copied is checked as f32 elements", copy.bytes));
}

std::vector<Operand> operands(const Copy& copy) {
  const std::int64_t count = copy.bytes / element_size(DataType::f32).value();
  return {{"source", OperandRole::input, DataType::f32, count},
          {"destination", OperandRole::output, DataType::f32, count}};
}

}  // namespace

const KindOf<Copy>& kind_of(const Copy&) {
  static const KindOf<Copy> kind = {
      .words = {{"copy", "memory to memory, on the device or between host and device",
                 "copy:bytes=1Gi,kind=d2d"}},
      .describe = describe,
      .normalize = normalize,
      .check = check,
      .operands = operands};
  return kind;
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

// True if only elements count: their type changes, and their order stays.
bool is_flat(const Convert& convert) { return convert.from == convert.to; }

void check_given(const ParameterReader& reader) {
  if (!reader.has("count") && !reader.has("n") && !reader.has("c"))
    reader.fail_missing("count, or n, c and hw,");
  for (const char* name : {"n", "c", "hw", "h", "w", "from", "to"}) {
    if (!reader.has("count") || !reader.has(name)) continue;
    reader.fail(fmt::format(
        "count is given beside {}; give count where the type changes alone, or n, c and hw for images",
        name));
  }
}

void describe(Convert& convert, Fields& fields) {
  const Convert usual;
  const ParameterReader* reader = fields.reader();
  if (reader != nullptr) check_given(*reader);
  const bool has_count = reader != nullptr ? reader->has("count") : is_flat(convert);
  if (fields.lists(!has_count)) fields.images(convert);
  if (fields.lists(has_count)) {
    fields.required("count", "elements, in place of n, c and hw, where the type changes alone", convert.w,
                    {1, kLargestCount}, "hw");
  }
  if (fields.lists(!has_count)) {
    fields.shown("from", "layout before: nchw or nhwc (PyTorch: channels_last)", convert.from, usual.from);
    fields.shown("to", "layout behind: nchw or nhwc", convert.to, {convert.from, "from"});
  }
  fields.shown("dtype", "type before: f64, f32, tf32 (as f32), f16 or bf16", convert.dtype, usual.dtype);
  fields.optional("to_dtype", "type behind: f64, f32, tf32 (as f32), f16 or bf16", convert.to_dtype,
                  {convert.dtype, "dtype"});
}

std::int64_t elements(const Convert& convert) {
  return limited_product({convert.n, convert.c, convert.h, convert.w});
}

void normalize(Convert& convert) {
  if (!is_flat(convert)) return;
  const bool is_possible = std::min({convert.n, convert.c, convert.h, convert.w}) > 0;
  if (is_possible) {
    convert.w = elements(convert);
    convert.n = convert.c = convert.h = 1;
  }
  convert.from = convert.to = Layout::nchw;
}

void check(const Convert& convert) {
  // Sizes of images that are impossible are not made to a count.
  if (is_flat(convert)) {
    for (const auto& [name, size] :
         {std::pair("n", convert.n), std::pair("c", convert.c), std::pair("h", convert.h)}) {
      check_range("convert", name, size, {});
    }
  }
  if (is_flat(convert) && stored_type(convert.dtype) == stored_type(convert.to_dtype)) {
    throw UsageError(fmt::format(
        "convert: from {} to {} in the same layout nothing changes; give another to_dtype, or from=nchw,to=nhwc",
        to_string(convert.dtype), to_string(convert.to_dtype)));
  }
}

std::vector<Operand> operands(const Convert& convert) {
  return {{"x", OperandRole::input, convert.dtype, elements(convert)},
          {"y", OperandRole::output, convert.to_dtype, elements(convert)}};
}

}  // namespace

const KindOf<Convert>& kind_of(const Convert&) {
  static const KindOf<Convert> kind = {
      .words = {{"convert", "into another layout, data type or both, as PyTorch's to() and contiguous()",
                 "convert:n=32,c=64,hw=56,from=nchw,to=nhwc,dtype=f16"}},
      .describe = describe,
      .normalize = normalize,
      .check = check,
      .operands = operands};
  return kind;
}

}  // namespace kinds
}  // namespace jitterscope

namespace jitterscope::kinds {
namespace {

void describe(Allocation& allocation, Fields& fields) {
  constexpr std::int64_t kMostBlocks = 1 << 16;
  const Allocation usual;
  if (const ParameterReader* reader = fields.reader()) {
    if (!reader->has("bytes") && !reader->has("pattern")) reader->fail_missing("bytes (or pattern)");
    if (reader->has("pattern") && (reader->has("bytes") || reader->has("count"))) {
      reader->fail("pattern is given beside bytes or count, which it has itself; give one or the other");
    }
    reader->read("pattern", allocation.pattern);
  }
  if (fields.lists(allocation.pattern.empty())) {
    fields.required("bytes", "size of a block; as every number with k, M, G, T or Ki, Mi, Gi, Ti behind it",
                    allocation.bytes, {1, kLargestCount});
    fields.optional("count", "blocks that are there at once", allocation.count, usual.count,
                    {1, kMostBlocks});
  }
  fields.text("pattern",
              "in place of bytes and count, a file of events, one a line: alloc NAME BYTES, or free NAME; "
              "@sequences is one of sequences of many lengths",
              allocation.pattern);
  fields.shown(
      "by",
      "malloc (cuMemAlloc on a GPU), pool (stream-ordered), pool_kept (that gives nothing back), cache (as "
      "PyTorch's allocator), expandable (that, over one range of addresses) or preallocated",
      allocation.by, usual.by);
  fields.optional("touch", "1 fills each block, 0 leaves it as it is", allocation.touch, usual.touch);
}

void check(const Allocation& allocation) {
  if (limited_product({allocation.bytes, allocation.count}) > kLargestOperandBytes) {
    throw UsageError("allocation: the blocks together take more than 64 TiB; make them smaller or fewer");
  }
  if (allocation.pattern.empty()) return;
  if (allocation.bytes != 0 || allocation.count != 1) {
    throw UsageError("allocation: a pattern has blocks of its own; leave out bytes and count");
  }
  if (allocation.pattern.find_first_of(",=") == std::string::npos) return;
  throw UsageError(
      fmt::format("allocation: the name of the pattern {} has a comma or an equals sign; rename the file",
                  in_quotes(allocation.pattern)));
}

}  // namespace

const KindOf<Allocation>& kind_of(const Allocation&) {
  static const KindOf<Allocation> kind = {
      .words = {{"allocation", "allocates, fills and frees memory in each launch, as a program does",
                 "allocation:bytes=64Mi,count=4,by=cache"}},
      .describe = describe,
      .check = check};
  return kind;
}

namespace {

void describe(Spin& spin, Fields& fields) {
  constexpr std::int64_t kLargestBlock = 1024;  // CUDA's limit on every architecture
  const Spin usual;
  if (const ParameterReader* reader = fields.reader()) {
    if (reader->has("ns") && reader->has("cycles"))
      reader->fail("ns and cycles are both given; give one of them");
    if (!reader->has("ns") && !reader->has("cycles")) reader->fail_missing("ns (or cycles)");
    if (reader->has("cycles")) spin.unit = Spin::Unit::cycles;
  }
  const bool has_time = spin.unit == Spin::Unit::nanoseconds;
  // Zero is an empty kernel: the shortest possible launch.
  const Bounds bounds = {0, kLargestDimension};
  if (fields.lists(has_time)) fields.required("ns", "nanoseconds that each block waits", spin.amount, bounds);
  if (fields.lists(!has_time)) {
    fields.required("cycles", "cycles of the processor's clock, in place of ns", spin.amount, bounds, "ns");
  }
  fields.optional("blocks", "blocks of threads", spin.blocks, usual.blocks);
  fields.optional("threads", "threads in a block, at most 1024", spin.threads, usual.threads,
                  {1, kLargestBlock});
}

}  // namespace

const KindOf<Spin>& kind_of(const Spin&) {
  static const KindOf<Spin> kind = {
      .words = {{"spin", "waits for a known time or number of cycles, to check the instruments",
                 "spin:ns=10000,blocks=132"}},
      .describe = describe};
  return kind;
}

}  // namespace jitterscope::kinds
