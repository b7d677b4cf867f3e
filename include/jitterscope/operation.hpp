// Operations (the work that is timed) as values, with a text form that the tool prints and reads back.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope {

/// tf32: fp32 tensors whose products may be rounded to TF32, as PyTorch's convolutions do by default. i64,
/// i32: indices; no operation computes in them.
enum class DataType { f64, f32, tf32, f16, bf16, i64, i32 };
enum class Layout { nchw, nhwc };
/// Order of the dimensions of attention's dense queries, keys and values, slowest first.
enum class HeadLayout { bhsd, bshd, sbhd };
enum class Direction { fprop, dgrad, wgrad };
/// forward is the forward pass in training; only batch normalization differs in inference. backward applies
/// its formula to the operands as given, whether or not a forward pass could have produced them.
enum class Pass { forward, backward, inference };
enum class CopyKind { d2d, h2d, d2h };
/// pinned: allocated page-locked. pageable: from malloc. registered: from malloc, page-locked before the
/// launches. registered_anew: page-locked in each launch before the copy, and unlocked after it. mapped:
/// page-locked, and read or written by a kernel instead of a copy engine.
enum class HostMemory { pinned, pageable, registered, registered_anew, mapped };
/// malloc: the device's own allocation and free. pool: its stream-ordered pool, which gives memory back when
/// it is waited for; pool_kept: one that never does. cache: splits blocks and keeps them in lists by size, as
/// PyTorch's allocator does; expandable: the same over one address range that pages are mapped into.
/// preallocated: nothing is allocated in the launch.
enum class Allocator { malloc, pool, pool_kept, cache, expandable, preallocated };

/// How a collective combines the elements of all ranks.
enum class Reduction { sum, prod, max, min, avg };

std::string_view to_string(DataType);
std::string_view to_string(Layout);
std::string_view to_string(HeadLayout);
std::string_view to_string(Direction);
std::string_view to_string(Pass);
std::string_view to_string(CopyKind);
std::string_view to_string(HostMemory);
std::string_view to_string(Allocator);
std::string_view to_string(Reduction);
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
  /// The provider's engine that runs it. Empty (`pytorch` in text): the choice of PyTorch with
  /// torch.backends.cudnn.benchmark off. `autotune`: the choice with it on. `best`: the fastest of all plans,
  /// measured. Else a plan's tag, such as ConvFwd_eng38_k2=1_k13=0. A device without such engines ignores it,
  /// and says so.
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
  std::string engine = {};  ///< like Matmul::engine
  bool operator==(const Linear&) const = default;
};

/// A memory copy. `memory` says how the host side is allocated (ignored for d2d). `node` is the NUMA node of
/// the host side; -1: wherever the system places it.
struct Copy {
  std::int64_t bytes = 0;
  CopyKind kind = CopyKind::d2d;
  HostMemory memory = HostMemory::pinned;
  std::int64_t node = -1;
  bool operator==(const Copy&) const = default;
};

/// Memory allocation as a program does it: allocates `count` blocks of `bytes`, writes to each if `touch` is
/// set, and frees them in the same order. If `pattern` is not empty, it plays the events of that file
/// instead; @NAME is a pattern that the program carries.
struct Allocation {
  std::int64_t bytes = 0, count = 1;
  Allocator by = Allocator::malloc;
  bool touch = true;
  std::string pattern = {};
  bool operator==(const Allocation&) const = default;
};

/// fill: y = 1. add, mul: a and b. Others: x; their backward forms: dy and what forward kept (y for relu,
/// sigmoid and tanh; else x). gelu uses erf; relu6 = min(max(x, 0), 6).
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

/// A kernel of known duration: each of `blocks` blocks spins for a known time or number of SM cycles.
struct Spin {
  enum class Unit { nanoseconds, cycles };
  Unit unit = Unit::nanoseconds;
  std::int64_t amount = 0;
  std::int64_t blocks = 1, threads = 32;
  bool operator==(const Spin&) const = default;
};

/// Normalizes each channel of x over n, h and w. x, y: n·c·h·w in `layout`. mean, deviation, variance: c, in
/// f32 if dtype is f16 or bf16. weight, bias: c, for f16 and bf16 in `weights`: f32 (mixed precision) or
/// dtype (after model.half()). eps = 1e-5; running averages are updated with momentum 0.1, but are no
/// operands. forward: x, weight, bias -> y, mean, deviation (1/sqrt(var + eps)); backward: x, dy, weight,
/// mean, deviation -> dx, dweight, dbias; inference: x, weight, bias, mean, variance -> y.
struct BatchNorm {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  DataType dtype = DataType::f32;
  Layout layout = Layout::nchw;
  Pass pass = Pass::forward;
  DataType weights = DataType::f32;
  bool operator==(const BatchNorm&) const = default;
};

enum class PoolKind { max, average };
/// Like torch.nn.MaxPool2d and AvgPool2d (the average counts padding as zeros). forward: x -> y, and for max
/// also indices (i64: position of the first maximum within the h·w plane). backward: dy, and for max indices
/// -> dx; each window adds its dy to the element that its index names, unless that element lies outside of
/// the window.
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

/// Softmax of each row of a rows×columns matrix. forward: x -> y; backward: dy, y -> dx.
struct Softmax {
  bool logarithm = false;
  std::int64_t rows = 1, columns = 1;
  DataType dtype = DataType::f32;
  Pass pass = Pass::forward;
  bool operator==(const Softmax&) const = default;
};

/// Normalizes each row; eps = 1e-5. weight, bias: columns, in dtype; mean, deviation: rows, in f32 if dtype
/// is f16 or bf16. forward: x, weight, bias -> y, mean, deviation; backward: dy, x, mean, deviation, weight
/// -> dx, dweight, dbias.
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

/// Copies x to another layout, data type, or both. x: n·c·h·w in `from` and `dtype`; y: the same images in
/// `to` and `to_dtype`. If the layout stays, only the number of elements counts: it is in w, and the others
/// are 1.
struct Convert {
  std::int64_t n = 1, c = 1, h = 1, w = 1;
  Layout from = Layout::nchw, to = Layout::nchw;
  DataType dtype = DataType::f32, to_dtype = DataType::f32;
  bool operator==(const Convert&) const = default;
};

/// Looks up `count` rows of a rows×columns table. forward: indices (i64), table -> y (count×columns);
/// backward: dy, indices -> dtable (rows×columns, zero in rows that no index names).
struct Embedding {
  std::int64_t count = 1, rows = 1, columns = 1;
  DataType dtype = DataType::f32;
  Pass pass = Pass::forward;
  bool operator==(const Embedding&) const = default;
};

enum class OptimizerKind { sgd, momentum, adam, adamw };
/// One optimizer step over `count` parameters. parameter, gradient (and momentum; or mean, square) ->
/// new_parameter (and new_momentum; or new_mean, new_square). lr = 0.01, momentum 0.9, betas 0.9 and 0.999,
/// eps = 1e-8, weight decay 0.01 in adamw; adam's bias corrections are those of the first step.
struct OptimizerStep {
  OptimizerKind kind = OptimizerKind::sgd;
  std::int64_t count = 1;
  DataType dtype = DataType::f32;
  bool operator==(const OptimizerStep&) const = default;
};

/// softmax(q·kᵀ/sqrt(dim))·v for each of batch·heads. q, y: batch·heads·queries·dim; k, v:
/// batch·kv_heads·keys·dim. If kv_heads is less than heads (grouped and multi-query attention), each
/// heads/kv_heads successive query heads share one head of keys and values. With `causal`, query i sees keys
/// 0…i. forward: q, k, v -> y, logsumexp (f32: batch·heads·queries); backward: dy, q, k, v, y, logsumexp ->
/// dq, dk, dv, where dk and dv are sums over the query heads that share them.
struct Attention {
  std::int64_t batch = 1, heads = 1, queries = 1, keys = 1, dim = 1;
  bool causal = false;
  HeadLayout layout = HeadLayout::bhsd;  ///< all tensors but logsumexp, which is batch, heads, queries
  DataType dtype = DataType::f16;
  Pass pass = Pass::forward;
  std::int64_t kv_heads = 0;  ///< divides heads; 0 means as many as heads (an Operation never holds 0)

  /// Number of query heads that share one head of keys and values.
  std::int64_t group() const { return kv_heads == 0 ? 1 : heads / kv_heads; }
  bool operator==(const Attention&) const = default;
};

/// The exchange between the ranks of a collective. x and y: a rank's input and output; each in `count`
/// elements but where said. all_reduce: y = x of all ranks, reduced. reduce_scatter: y (count / ranks) = this
/// rank's part of that. all_gather: y = x (count / ranks) of all ranks, in their order. broadcast: y = the
/// root's x. reduce: the root's y = x of all ranks, reduced. all_to_all: part r of y = this rank's part of
/// rank r's x. send_recv: y = x of the rank before, in a ring. send: rank `to` gets the root's x; other ranks
/// do nothing.
enum class CollectiveKind {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  reduce,
  all_to_all,
  send_recv,
  send,
};
/// The part of one rank in a collective. In place there is one operand, x, in `count` elements, which holds
/// the results, too: y of all_gather holds x as its part of this rank, x of reduce_scatter holds y so. A
/// launch then reads what the one before wrote, so sums grow beyond all bounds, as in nccl-tests.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t count = 1;  ///< elements of the larger of its buffers: what nccl-tests calls size, in elements
  DataType dtype = DataType::f32;
  Reduction op = Reduction::sum;  ///< of all_reduce, reduce_scatter and reduce; else sum
  std::int64_t root = 0;          ///< of broadcast, reduce and send; else 0
  std::int64_t to = 1;            ///< of send; else 1
  bool in_place = false;          ///< never in all_to_all and send_recv
  /// How many ranks take part; 0: as many as there are where it is prepared, and operands, FLOPs and bytes
  /// are those of one rank alone.
  std::int64_t ranks = 0;
  bool operator==(const Collective&) const = default;
};

/// An argument of a PyTorch operator.
struct AtenArgument {
  enum class Kind { none, boolean, integer, real, text, tensor, list };
  Kind kind = Kind::none;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0.0;
  std::string text;  ///< text, or a tensor's data type: f32, i64, bool, u8@cpu (host memory)…
  std::vector<std::int64_t> shape, strides;    ///< a tensor's; empty strides: dense, row-major
  std::vector<AtenArgument> elements;          ///< a list's
  bool operator==(const AtenArgument&) const;  ///< treats two NaNs as equal
};
/// A PyTorch operator: its schema's name, and its arguments in the schema's order; those missing at the end
/// take the schema's defaults. In text: aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2). Its outputs are
/// unknown before it runs, so bytes() counts the tensors among the arguments, each read once.
struct Aten {
  std::string name;  ///< with its overload, if it has one: aten::add.Tensor
  std::vector<AtenArgument> arguments;
  std::vector<std::string> argument_names;  ///< one for each argument; empty if the argument is positional
  bool operator==(const Aten&) const = default;
};

/// An argument of a kernel: a buffer in the GPU's memory, or a number.
struct KernelArgument {
  /// inout: filled like an input, and written.
  enum class Kind { input, output, inout, number };
  enum class NumberType { i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64 };
  std::string name;
  Kind kind = Kind::number;
  DataType dtype = DataType::f32;  ///< data type of a buffer
  std::int64_t count = 0;          ///< number of elements of a buffer
  NumberType number_type = NumberType::i32;
  std::int64_t integer = 0;  ///< value of i8 to u64
  double real = 0.0;         ///< value of f16 to f64; rounded when the kernel is launched
  bool operator==(const KernelArgument&) const = default;
};
/// A kernel of a CUDA source file, compiled by NVRTC for the GPU at hand. Arguments are in the order of the
/// kernel's parameters. Indices are drawn below the count of the smallest buffer, so that they fit all
/// buffers. In text: cuda:FILE.cu:KERNEL,grid=4096,block=256,x=f32[1Mi],y=out:f32[1Mi],n=1Mi,a=2.5.
struct CudaKernel {
  std::string file;  ///< as typed, relative to the working directory; @NAME: a file that the program carries
  std::string kernel;  ///< its name in C++: scale, ns::scale, scale<float>
  std::array<std::int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  std::int64_t shared = 0;     ///< bytes of dynamic shared memory
  std::int64_t registers = 0;  ///< limit for each thread, as nvcc's -maxrregcount; 0: the compiler chooses
  bool fast_math = false;      ///< nvcc's -use_fast_math
  std::int64_t optimize = 3;   ///< nvcc's -Xptxas -O0 to -O3
  std::int64_t min_blocks =
      0;  ///< adds __launch_bounds__(threads of a block, min_blocks); 0: as in the source
  std::int64_t architecture = 0;  ///< 80: PTX for 8.0, compiled by the driver; 0: code for the GPU at hand
  std::string reference = {};     ///< a kernel of the file with the same parameters and correct outputs
  std::vector<KernelArgument> arguments = {};
  bool operator==(const CudaKernel&) const = default;
};

class Operation;

/// How work is spread over streams. lanes: each lane goes to the next stream as a whole. steps: each step of
/// a lane goes to the next stream, so that it runs on another stream than the step before it.
enum class ChainSpread { lanes, steps };
/// How a step waits for the step before it on another stream. events: for that step alone. joins: all streams
/// wait for all others after each step. none: it does not wait, so it may read what is not yet written.
enum class ChainOrder { events, joins, none };
/// How the host waits within a launch: for the stream (cuStreamSynchronize), an event, the device
/// (cuCtxSynchronize), an event with a sleeping thread (blocking), by querying an event repeatedly (polling),
/// or the same while giving up the core in between (yielding); or it reads one value of the step's output
/// (value).
enum class HostWait { none, stream, event, device, blocking, polling, yielding, value };
enum class WaitAfter { lane, step };

/// Several operations launched as one: each of `lanes` runs all `steps` in order, on operands of its own. If
/// a step's first input has the size and type of the first output of the step before it, the two share
/// memory. The streams fork from the queue's stream at the start and join it at the end.
struct Chain {
  std::vector<Operation> steps;
  std::int64_t lanes = 1, streams = 1;
  ChainSpread spread = ChainSpread::lanes;
  ChainOrder order = ChainOrder::events;
  HostWait wait = HostWait::none;
  WaitAfter wait_after = WaitAfter::lane;
  bool high_priority = false;  ///< the steps' streams have the device's highest priority
  /// Another stream keeps all processors busy meanwhile, with blocks of 10 us: for this long if the blocks
  /// had the processors alone, but no longer than until the last step is done.
  std::int64_t load_ns = 0;
  /// A lane is one launch: each step reads the output of the step before it, which never reaches memory.
  /// There is one stream, and neither a wait nor a load.
  bool fused = false;
  bool operator==(const Chain&) const;
};

enum class OperandRole { input, output };
/// One dense tensor of an operation. Spin, Aten and Allocation have none; a copy has one input and one
/// output. A chain has its steps' operands without those that pass from one step to the next, named
/// LANE.STEP.NAME, counted from 1. A kernel's inout is an input, since it has to be filled; its content after
/// a launch is verified, too.
struct Operand {
  std::string name;  ///< as in the operation's comment above: x, w, y, dx, dw, dy, a, b, c, bias…
  OperandRole role = OperandRole::input;
  DataType dtype = DataType::f32;
  std::int64_t count = 0;        ///< number of elements
  std::int64_t index_limit = 0;  ///< i64 and i32: indices are drawn from 0 to index_limit - 1
  bool non_negative = false;     ///< drawn values lose their sign: variances, squares, deviations
  std::int64_t fan_in = 0;       ///< a weight's: number of products in each sum of forward's result
  Bytes bytes() const { return Bytes(count * element_size(dtype).value()); }
};

class Operation {
 public:
  using Parameters = std::variant<Conv2d, Matmul, Linear, Copy, Elementwise, Spin, BatchNorm, Pool2d, Softmax,
                                  LayerNorm, BiasAdd, Embedding, OptimizerStep, Attention, Aten, CudaKernel,
                                  Chain, Allocation, Convert, Collective>;

  /// Checks the shape. Throws UsageError that says which parameter is impossible and why.
  Operation(Parameters parameters);  // NOLINT(google-explicit-constructor): a shape is an operation
  /// Reads one line of text without lists or ranges. Throws UsageError that names the nearest known word.
  static Operation parse(std::string_view text);

  const Parameters& parameters() const { return parameters_; }
  std::string_view kind() const;  ///< the word before the colon: conv2d, matmul, …; aten for any Aten
  std::string text() const;       ///< the normal form; parse(text()) gives an equal operation
  double flops() const;           ///< a multiply and an add count as two
  /// Bytes that must move at least: each input read once and each output written once; for a chain that is
  /// not fused, the sum over its steps.
  Bytes bytes() const;
  /// f32 for spin; a copy moves f32 elements if bytes is a multiple of 4; the coarsest type of a chain or a
  /// conversion.
  DataType dtype() const;
  std::vector<Operand> operands() const;  ///< inputs first, then outputs
  /// Returns the operation in another data type; a conversion between types stays the same.
  Operation with_dtype(DataType) const;

  bool operator==(const Operation&) const = default;

 private:
  Parameters parameters_;
};

/// Expands lists and ranges, `n=1,2,4`, `n=1..64*2` or `n=1..9+2`, to their product in the order written.
/// Throws UsageError above 10,000 operations.
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
