// Operations as values: what is timed, as one line of text that the tool prints and reads back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// tf32: tensors of fp32 whose products may be rounded to TF32, as PyTorch's convolutions do by default.
/// i64, i32: indices; no operation computes in them.
enum class DataType { f64, f32, tf32, f16, bf16, i64, i32 };
enum class Layout { nchw, nhwc };
/// Of attention's queries, keys and values, densely, the slowest first: batch, heads, sequence, dim.
enum class HeadLayout { bhsd, bshd, sbhd };
enum class Direction { fprop, dgrad, wgrad };
/// inference: only batch normalization differs there from forward, which is that of training. backward: the
/// formula of its operands as they are given, whether or not a forward pass would have given them.
enum class Pass { forward, backward, inference };
enum class CopyKind { d2d, h2d, d2h };
/// pinned: allocated page-locked. pageable: as malloc gives it. registered: that, page-locked before the
/// launches; registered_anew: in each launch, before the copy, and released behind it. mapped: page-locked,
/// and read or written by a kernel in place of a copy engine.
enum class HostMemory { pinned, pageable, registered, registered_anew, mapped };
/// malloc: the device's own allocation and free. pool: its stream-ordered pool, which gives memory back when
/// it is waited for; pool_kept: one that never does. cache: blocks are kept in lists by size and split, as
/// PyTorch's allocator does; expandable: the same over one range of addresses that pages are mapped into.
/// preallocated: all is there before the launch, and nothing is asked for.
enum class Allocator { malloc, pool, pool_kept, cache, expandable, preallocated };

std::string_view to_string(DataType);
std::string_view to_string(Layout);
std::string_view to_string(HeadLayout);
std::string_view to_string(Direction);
std::string_view to_string(Pass);
std::string_view to_string(CopyKind);
std::string_view to_string(HostMemory);
std::string_view to_string(Allocator);
Bytes element_size(DataType);
bool holds_indices(DataType);

/// A 2-D convolution. x: n·c·h·w, w: k·(c/groups)·r·s, y: n·k·out_h·out_w, all stored in `layout`.
/// fprop computes y from x and w; dgrad computes dx from dy and w; wgrad computes dw from x and dy.
struct Conv2d {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  std::int64_t k = 1, r = 1, s = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;
  std::int64_t dilation_h = 1, dilation_w = 1;
  std::int64_t groups = 1;
  DataType dtype = DataType::f32;
  Layout layout = Layout::nchw;
  Direction direction = Direction::fprop;
  /// Which of the provider's engines runs it. Empty (`pytorch` in text): as PyTorch chooses with
  /// torch.backends.cudnn.benchmark off. `autotune`: as with it on. `best`: every plan, measured. Else a
  /// plan's tag, such as ConvFwd_eng38_k2=1_k13=0. A device without such engines ignores it, and says so.
  std::string engine = {};

  std::int64_t out_h() const;
  std::int64_t out_w() const;
  bool operator==(const Conv2d&) const = default;
};

/// C[b] = op(A[b])·op(B[b]) (+ bias along n), row-major: op(A) is m×k, op(B) is k×n, C is m×n.
/// With transpose_a, A is stored k×m; with transpose_b, B is stored n×k.
struct Matmul {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  bool transpose_a = false, transpose_b = false, bias = false;
  DataType dtype = DataType::f32;
  std::string engine =
      {};  ///< empty: as PyTorch; else a cuBLASLt algorithm: algo66_tile=128x128_stages=64x4…
  bool operator==(const Matmul&) const = default;
};

/// y = x·Wᵀ (+ bias), row-major: x is n×in, W is out×in, y is n×out, as torch.nn.Linear.
struct Linear {
  std::int64_t n = 1, in = 1, out = 1;
  bool bias = true;
  DataType dtype = DataType::f32;
  std::string engine = {};  ///< as Matmul::engine
  bool operator==(const Linear&) const = default;
};

/// Memory to memory. `memory` says how the host side is allocated; d2d ignores it. `node` is the NUMA node
/// that the host side lies on; -1: where the system places it.
struct Copy {
  std::int64_t bytes = 0;
  CopyKind kind = CopyKind::d2d;
  HostMemory memory = HostMemory::pinned;
  std::int64_t node = -1;
  bool operator==(const Copy&) const = default;
};

/// Memory as a program takes it: `count` blocks of `bytes` are allocated, each is filled where `touch` is
/// set, and they are freed in the same order. Or, where `pattern` is not empty, the events of that file in
/// their order; @NAME is one that the program carries.
struct Allocation {
  std::int64_t bytes = 0, count = 1;
  Allocator by = Allocator::malloc;
  bool touch = true;
  std::string pattern = {};
  bool operator==(const Allocation&) const = default;
};

/// fill: y = 1; add, mul: of a and b; the rest of x, their backward forms of dy and of what forward kept (y
/// for relu, sigmoid and tanh; x for the others). gelu is the one by erf, relu6 = min(max(x, 0), 6).
enum class ElementwiseKind {
  fill,
  add,
  mul,
  relu,
  relu6,
  sigmoid,
  tanh,
  silu,
  gelu,
  relu_backward,
  relu6_backward,
  sigmoid_backward,
  tanh_backward,
  silu_backward,
  gelu_backward,
};
struct Elementwise {
  ElementwiseKind kind = ElementwiseKind::add;
  std::int64_t count = 1;
  DataType dtype = DataType::f32;
  bool operator==(const Elementwise&) const = default;
};

/// Ground truth: each of `blocks` blocks spins for a known time, or a known number of SM cycles.
struct Spin {
  enum class Unit { nanoseconds, cycles };
  Unit unit = Unit::nanoseconds;
  std::int64_t amount = 0;
  std::int64_t blocks = 1, threads = 32;
  bool operator==(const Spin&) const = default;
};

/// Normalizes each channel of x over n, h and w. x, y: n·c·h·w in `layout`; mean, deviation and variance: c,
/// in f32 where dtype is f16 or bf16; weight and bias: c, there in `weights`, which is f32 (mixed precision)
/// or dtype (after model.half()), else in dtype. eps = 1e-5; running averages are updated with momentum 0.1,
/// but are no operands. forward: x, weight, bias -> y, mean, deviation (1/sqrt(var + eps)); backward: x, dy,
/// weight, mean, deviation -> dx, dweight, dbias; inference: x, weight, bias, mean, variance -> y.
struct BatchNorm {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  DataType dtype = DataType::f32;
  Layout layout = Layout::nchw;
  Pass pass = Pass::forward;
  DataType weights = DataType::f32;
  bool operator==(const BatchNorm&) const = default;
};

enum class PoolKind { max, average };
/// As torch.nn.MaxPool2d and AvgPool2d (padding counts as zeros of the average). forward: x -> y, and for max
/// also indices (i64, of the first of the largest within its h·w plane); backward: dy, and for max indices ->
/// dx, where a window gives its dy to the element that its index names, or to none if that lies outside of
/// it.
struct Pool2d {
  PoolKind kind = PoolKind::max;
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  std::int64_t window_h = 1, window_w = 1;
  std::int64_t stride_h = 1, stride_w = 1;
  std::int64_t pad_h = 0, pad_w = 0;
  DataType dtype = DataType::f32;
  Layout layout = Layout::nchw;
  Pass pass = Pass::forward;

  std::int64_t out_h() const;
  std::int64_t out_w() const;
  bool operator==(const Pool2d&) const = default;
};

/// Over each row of a rows×columns matrix. forward: x -> y; backward: dy, y -> dx.
struct Softmax {
  bool logarithm = false;
  std::int64_t rows = 1, columns = 1;
  DataType dtype = DataType::f32;
  Pass pass = Pass::forward;
  bool operator==(const Softmax&) const = default;
};

/// Of each row, eps = 1e-5. weight, bias: columns, in dtype; mean, deviation: rows, in f32 where dtype is f16
/// or bf16. forward: x, weight, bias -> y, mean, deviation; backward: dy, x, mean, deviation, weight -> dx,
/// dweight, dbias.
struct LayerNorm {
  std::int64_t rows = 1, columns = 1;
  DataType dtype = DataType::f32;
  Pass pass = Pass::forward;
  bool operator==(const LayerNorm&) const = default;
};

/// y = x + bias[channel], as PyTorch adds a convolution's bias. x, y: n·c·h·w in `layout`.
struct BiasAdd {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  DataType dtype = DataType::f32;
  Layout layout = Layout::nchw;
  bool operator==(const BiasAdd&) const = default;
};

/// y = x in another layout, in another data type, or both. x: n·c·h·w in `from` and `dtype`; y: the same
/// images in `to` and `to_dtype`. Where the layout stays, nothing but the number of elements counts: w, the
/// others 1.
struct Convert {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  Layout from = Layout::nchw, to = Layout::nchw;
  DataType dtype = DataType::f32, to_dtype = DataType::f32;
  bool operator==(const Convert&) const = default;
};

/// `count` indices into a rows×columns table. forward: indices (i64), table -> y (count×columns); backward:
/// dy, indices -> dtable (rows×columns, zero where no index points).
struct Embedding {
  std::int64_t count = 1, rows = 1, columns = 1;
  DataType dtype = DataType::f32;
  Pass pass = Pass::forward;
  bool operator==(const Embedding&) const = default;
};

enum class OptimizerKind { sgd, momentum, adam, adamw };
/// One step over `count` parameters. parameter, gradient (and momentum; or mean, square) -> new_parameter
/// (and new_momentum; or new_mean, new_square). lr = 0.01, momentum 0.9, betas 0.9 and 0.999, eps = 1e-8,
/// weight decay 0.01 in adamw; the first step of adam's bias corrections.
struct OptimizerStep {
  OptimizerKind kind = OptimizerKind::sgd;
  std::int64_t count = 1;
  DataType dtype = DataType::f32;
  bool operator==(const OptimizerStep&) const = default;
};

/// softmax(q·kᵀ/sqrt(dim))·v for each of batch·heads. q: batch·heads·queries·dim; k, v:
/// batch·kv_heads·keys·dim; y as q. Where kv_heads is less than heads (grouped and multi-query attention),
/// heads/kv_heads heads of queries in a row look at one head of keys and values. With `causal`, query i sees
/// keys 0…i. forward: q, k, v -> y, logsumexp (f32: batch·heads·queries); backward: dy, q, k, v, y, logsumexp
/// -> dq, dk, dv, where dk and dv are sums over the heads that look at them.
struct Attention {
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1, dim = 1;
  bool causal = false;
  HeadLayout layout = HeadLayout::bhsd;  ///< of all but logsumexp, which is batch, heads, queries
  DataType dtype = DataType::f16;
  Pass pass = Pass::forward;
  std::int64_t kv_heads = 0;  ///< a divisor of heads; 0, which an Operation never holds: as many as heads

  /// How many heads of queries look at one head of keys.
  std::int64_t group() const { return kv_heads == 0 ? 1 : heads / kv_heads; }
  bool operator==(const Attention&) const = default;
};

/// An argument of a PyTorch operator.
struct AtenArgument {
  enum class Kind { none, boolean, integer, real, text, tensor, list };
  Kind kind = Kind::none;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0.0;
  std::string text;  ///< also the data type of a tensor: f32, i64, bool, u8@cpu (host memory)…
  std::vector<std::int64_t> shape, strides;    ///< of a tensor; strides empty: dense, row-major
  std::vector<AtenArgument> elements;          ///< of a list
  bool operator==(const AtenArgument&) const;  ///< where two NaNs are equal
};
/// Any operator of PyTorch, by its schema's name and its arguments in the schema's order; those that are left
/// out at the end take the schema's defaults. In text: aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2).
/// Its outputs are unknown before it runs: bytes() counts the tensors among the arguments, each read once.
struct Aten {
  std::string name;  ///< with its overload: aten::add.Tensor; without one where that is empty
  std::vector<AtenArgument> arguments;
  std::vector<std::string> argument_names;  ///< as many; empty where the argument is given by its place
  bool operator==(const Aten&) const = default;
};

/// An argument of a kernel: a buffer in the GPU's memory, or a number.
struct KernelArgument {
  /// inout: filled as an input is, and written.
  enum class Kind { input, output, inout, number };
  enum class NumberType { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };
  std::string name;
  Kind kind = Kind::number;
  DataType dtype = DataType::f32;  ///< of a buffer
  std::int64_t count = 0;          ///< elements of a buffer
  NumberType number_type = NumberType::i32;
  std::int64_t integer = 0;  ///< of i8 to u64
  double real = 0.0;         ///< of f16 to f64; rounded when the kernel is launched
  bool operator==(const KernelArgument&) const = default;
};
/// A kernel of a CUDA source file, compiled by NVRTC for the GPU at hand. Its arguments stand in the order of
/// its parameters. Indices are drawn below the count of the smallest buffer, so that they fit all of them. In
/// text: cuda:FILE.cu:KERNEL,grid=4096,block=256,x=f32[1Mi],y=out:f32[1Mi],n=1Mi,a=2.5.
struct CudaKernel {
  std::string file;    ///< as typed, relative to the working directory; @NAME is one that the program carries
  std::string kernel;  ///< as C++ names it: scale, ns::scale, scale<float>
  std::array<std::int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  std::int64_t shared = 0;     ///< bytes of dynamic shared memory
  std::int64_t registers = 0;  ///< most for each thread, as nvcc's -maxrregcount; 0: as the compiler chooses
  bool fast_math = false;      ///< as nvcc's -use_fast_math
  std::int64_t optimize = 3;   ///< as nvcc's -Xptxas -O0 to -O3
  std::int64_t min_blocks =
      0;  ///< as __launch_bounds__(threads of a block, min_blocks) at it; 0: as the source has it
  std::int64_t architecture = 0;  ///< 80: PTX for 8.0, which the driver compiles; 0: code for the GPU at hand
  std::string reference = {};     ///< a kernel of the file with the same parameters whose outputs are right
  std::vector<KernelArgument> arguments = {};
  bool operator==(const CudaKernel&) const = default;
};

class Operation;

/// What goes to the next stream: lanes, each of them whole; or each step of a lane, so that the step before
/// it has run on another stream.
enum class ChainSpread { lanes, steps };
/// How a step waits for the one before it, where that runs on another stream. events: for it alone. joins:
/// all streams wait for all, behind each step. none: not at all, so that it may read what is not yet written.
enum class ChainOrder { events, joins, none };
/// How the host waits within a launch: for the stream (cuStreamSynchronize), an event, the device
/// (cuCtxSynchronize), an event that lets the thread sleep (blocking), by asking an event over and over
/// (polling), and giving up the core in between (yielding); or it reads one value of what the step wrote.
enum class HostWait { none, stream, event, device, blocking, polling, yielding, value };
enum class WaitAfter { lane, step };

/// Several operations launched as one: `steps`, one after the other, in each of `lanes`, which have operands
/// of their own. Where a step's first input is as large as the first output of the step before it, and of its
/// type, it lies in that output's memory. Streams part from the queue's at the start and join it at the end.
struct Chain {
  std::vector<Operation> steps;
  std::int64_t lanes = 1, streams = 1;
  ChainSpread spread = ChainSpread::lanes;
  ChainOrder order = ChainOrder::events;
  HostWait wait = HostWait::none;
  WaitAfter wait_after = WaitAfter::lane;
  bool high_priority = false;  ///< the steps' streams have the highest priority that the device gives
  /// Another stream keeps all processors busy meanwhile, by blocks of 10 us, for so long (when they have the
  /// processors alone) or until the last step is done.
  std::int64_t load_ns = 0;
  /// The steps of a lane are one launch, and what one step writes and the next one reads never reaches
  /// memory. Each step then reads the one before it; there is one stream, and neither a wait nor a load.
  bool fused = false;
  bool operator==(const Chain&) const;
};

enum class OperandRole { input, output };
/// One tensor of an operation, stored densely. Spin, Aten and Allocation have none; copy has one input and
/// one output; a chain has those of its steps but what one writes and the next one reads, named
/// LANE.STEP.NAME from 1 on; a kernel's inout is an input, as it has to be filled, and what it holds after a
/// launch is verified besides.
struct Operand {
  std::string name;  ///< as the operation's comment above: x, w, y, dx, dw, dy, a, b, c, bias…
  OperandRole role = OperandRole::input;
  DataType dtype = DataType::f32;
  std::int64_t count = 0;        ///< elements
  std::int64_t index_limit = 0;  ///< of i64 and i32: the indices are drawn from 0 to one less
  bool non_negative = false;     ///< drawn values lose their sign: variances, squares, deviations
  std::int64_t fan_in = 0;       ///< of a weight: the products that each sum of forward's result adds
  Bytes bytes() const { return Bytes(count * element_size(dtype).value()); }
};

class Operation {
 public:
  using Parameters = std::variant<Conv2d, Matmul, Linear, Copy, Elementwise, Spin, BatchNorm, Pool2d, Softmax,
                                  LayerNorm, BiasAdd, Embedding, OptimizerStep, Attention, Aten, CudaKernel,
                                  Chain, Allocation, Convert>;

  /// Checks the shape; throws UsageError that says which parameter is impossible and why.
  Operation(Parameters parameters);  // NOLINT(google-explicit-constructor): a shape is an operation
  /// Reads one line of text, without lists or ranges. Throws UsageError, naming the nearest known word.
  static Operation parse(std::string_view text);

  const Parameters& parameters() const { return parameters_; }
  std::string_view kind() const;  ///< the word before the colon: conv2d, matmul, …; aten of any Aten
  std::string text() const;       ///< the normal form; parse(text()) gives an equal operation
  double flops() const;           ///< a multiply and an add count as two
  /// That must move at least: each input read and each output written once; of a chain that is not fused,
  /// what its steps move.
  Bytes bytes() const;
  /// f32 for spin; copy moves f32 elements where bytes is a multiple of 4; of a chain's and a conversion's
  /// types the coarsest.
  DataType dtype() const;
  std::vector<Operand> operands() const;  ///< inputs first, then the outputs
  /// Of a conversion between types the same: they are what it is about.
  Operation with_dtype(DataType) const;

  bool operator==(const Operation&) const = default;

 private:
  Parameters parameters_;
};

/// Expands lists and ranges, `n=1,2,4` and `n=1..64*2` or `n=1..9+2`: the product in the order written.
/// Throws UsageError past 10,000 operations.
std::vector<Operation> parse_sweep(std::string_view text);

/// A parameter as `list` and error messages show it.
struct ParameterHelp {
  std::string name, meaning, default_value;  ///< empty default: required
};
struct OperationHelp {
  std::string kind, summary, example;
  std::vector<ParameterHelp> parameters;
};
const std::vector<OperationHelp>& operation_help();

}  // namespace jitterscope
