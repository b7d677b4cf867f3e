#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "import/operator_conversion.hpp"

// Converts matrix products, by the strides of their operands, and attention.

namespace jitterscope {
namespace {

// True if the last two dimensions are a transposed view of a dense matrix. Throws NotNative if they are
// neither dense nor that, or if the matrices of a batch do not follow one another.
bool is_transposed(const AtenArgument& matrix) {
  const std::size_t rank = matrix.shape.size();
  require_native(rank == 2 || rank == 3);
  constexpr int kMatrix[] = {0, 1}, kTransposed[] = {1, 0}, kBatch[] = {0, 1, 2},
                kBatchTransposed[] = {0, 2, 1};
  using Order = std::span<const int>;
  if (is_dense_in(matrix, rank == 2 ? Order(kMatrix) : Order(kBatch))) return false;
  require_native(is_dense_in(matrix, rank == 2 ? Order(kTransposed) : Order(kBatchTransposed)));
  return true;
}

// TF32 is a switch of the whole program, torch.backends.cuda.matmul.allow_tf32, and off by default.
DataType product_type(const AtenArgument& tensor, ConversionContext& context) {
  const DataType type = native_type(tensor);
  if (type == DataType::f32 && context.on_gpu && !context.knows_kernels)
    context.note("The record does not say whether products of f32 ran in TF32; f32 is taken.");
  return type;
}

// Returns op(a)·op(b) of two matrices (rank 2), or of two batches of them (rank 3).
Matmul product(const Arguments& arguments, std::string_view left, std::string_view right, std::size_t rank,
               ConversionContext& context) {
  const AtenArgument &a = arguments.tensor(left), &b = arguments.tensor(right);
  require_native(a.shape.size() == rank && b.shape.size() == rank && a.text == b.text);
  Matmul matmul;
  matmul.m = a.shape[rank - 2], matmul.k = a.shape[rank - 1], matmul.n = b.shape[rank - 1];
  require_native(b.shape[rank - 2] == matmul.k);
  if (rank == 3) {
    matmul.batch = a.shape[0];
    require_native(b.shape[0] == matmul.batch);
  }
  matmul.transpose_a = is_transposed(a);
  matmul.transpose_b = is_transposed(b);
  matmul.dtype = product_type(a, context);
  return matmul;
}

Converted matmul_of(const Matmul& matmul, const Arguments& arguments, std::string_view a, std::string_view b,
                    std::string_view bias) {
  return {as_operation(matmul, arguments, {{"a", a}, {"b", b}, {"bias", bias}, {"c", 0}})};
}

// aten::mm.dtype and the like have one more argument, and write another type than they read. Profiler traces
// do not name overloads. A tensor in that place is the place for the result (out=).
void require_one_type(const Arguments& arguments, std::size_t count) {
  const std::vector<RecordedArgument>& all = arguments.recorded().arguments;
  require_native(all.size() <= count || all[count].value.kind == AtenArgument::Kind::tensor);
}

bool is_bias_of(const AtenArgument& bias, std::int64_t columns) {
  return bias.shape == std::vector{columns} && is_dense_row_major(bias);
}

}  // namespace

Converted convert_linear(const Arguments& arguments, ConversionContext& context) {
  const AtenArgument &x = arguments.tensor("input"), &weight = arguments.tensor("weight");
  require_native(weight.shape.size() == 2 && !x.shape.empty() && x.text == weight.text);
  require_native(is_dense_row_major(x) && is_dense_row_major(weight) && x.shape.back() == weight.shape[1]);
  Linear linear;
  linear.in = weight.shape[1], linear.out = weight.shape[0];
  require_native(linear.in > 0);
  linear.n = element_count(x) / linear.in;
  linear.bias = arguments.has_tensor("bias");
  linear.dtype = product_type(x, context);
  return {as_operation(linear, arguments, {{"x", "input"}, {"w", "weight"}, {"bias", "bias"}, {"y", 0}})};
}

Converted convert_addmm(const Arguments& arguments, ConversionContext& context) {
  require_one_type(arguments, 5);
  const AtenArgument& bias = arguments.tensor("self");
  Matmul matmul = product(arguments, "mat1", "mat2", 2, context);
  require_native(is_bias_of(bias, matmul.n) && bias.text == arguments.tensor("mat1").text);
  require_native(arguments.number_or("beta", 1.0) == 1.0 && arguments.number_or("alpha", 1.0) == 1.0);
  if (matmul.transpose_a || !matmul.transpose_b) {
    matmul.bias = true;
    return matmul_of(matmul, arguments, "mat1", "mat2", "self");
  }
  Linear linear;
  linear.n = matmul.m, linear.in = matmul.k, linear.out = matmul.n, linear.dtype = matmul.dtype;
  return {as_operation(linear, arguments, {{"x", "mat1"}, {"w", "mat2"}, {"bias", "self"}, {"y", 0}})};
}

Converted convert_mm(const Arguments& arguments, ConversionContext& context) {
  require_one_type(arguments, 2);
  return matmul_of(product(arguments, "self", "mat2", 2, context), arguments, "self", "mat2", "");
}

Converted convert_bmm(const Arguments& arguments, ConversionContext& context) {
  require_one_type(arguments, 2);
  return matmul_of(product(arguments, "self", "mat2", 3, context), arguments, "self", "mat2", "");
}

Converted convert_baddbmm(const Arguments& arguments, ConversionContext& context) {
  require_one_type(arguments, 5);
  // With another beta, a third batch of matrices is read.
  require_native(arguments.number_or("beta", 1.0) == 0.0);
  return matmul_of(product(arguments, "batch1", "batch2", 3, context), arguments, "batch1", "batch2", "");
}

// Scaled dot product attention, whichever of PyTorch's kernels ran it.

namespace {

bool is_absent(const Arguments& arguments, std::string_view name) {
  const RecordedArgument* argument = arguments.find(name);
  return argument == nullptr || argument->value.kind == AtenArgument::Kind::none;
}

// Finds the order that all tensors have: a tensor of one head or one query fits two orders.
HeadLayout layout_of(std::initializer_list<const AtenArgument*> tensors) {
  constexpr std::pair<HeadLayout, std::array<int, 4>> kOrders[] = {
      {HeadLayout::bhsd, {0, 1, 2, 3}}, {HeadLayout::bshd, {0, 2, 1, 3}}, {HeadLayout::sbhd, {2, 0, 1, 3}}};
  for (const auto& known : kOrders) {
    const auto lies_so = [&](const AtenArgument* tensor) { return is_dense_in(*tensor, known.second); };
    if (std::all_of(tensors.begin(), tensors.end(), lies_so)) return known.first;
  }
  throw NotNative();
}

// True if the causal mask is aligned at the last key, as FlashAttention 2 does if there are not as many
// queries as keys. The operation, and PyTorch's other kernels, align it at the first.
bool sees_last_keys(const std::string& name, const Attention& attention) {
  const bool is_flash =
      name.find("_flash_attention") != std::string::npos && name.find("_for_cpu") == std::string::npos;
  return is_flash && attention.causal && attention.queries != attention.keys;
}

// Reads query, key and value of batch · heads · length · dim, all in one order in memory. Keys and values may
// have fewer heads (enable_gqa).
Attention attention_of(const Arguments& arguments, ConversionContext& context) {
  const AtenArgument &query = arguments.tensor("query"), &key = arguments.tensor("key");
  const AtenArgument& value = arguments.tensor("value");
  require_native(query.shape.size() == 4 && key.shape.size() == 4 && value.shape == key.shape);
  require_native(query.text == key.text);
  Attention attention;
  attention.layout = layout_of({&query, &key, &value});
  attention.batch = query.shape[0], attention.heads = query.shape[1];
  attention.queries = query.shape[2], attention.keys = key.shape[2], attention.dim = query.shape[3];
  attention.kv_heads = key.shape[1];
  require_native(attention.kv_heads > 0 && attention.heads % attention.kv_heads == 0);
  require_native(key.shape[0] == attention.batch && key.shape[3] == attention.dim && attention.dim > 0);
  // A mask is one more tensor to read, and PyTorch may run another kernel for it.
  require_native(is_absent(arguments, "attn_bias") && is_absent(arguments, "attn_mask"));
  const double usual = 1.0 / std::sqrt(static_cast<double>(attention.dim));
  require_native(std::abs(arguments.number_or("scale", usual) - usual) < 1e-4 * usual);
  attention.causal = arguments.boolean("is_causal");
  require_native(!sees_last_keys(arguments.recorded().name, attention));
  attention.dtype = native_type(query);
  if (arguments.number("dropout_p") > 0.0) {
    context.note("The attention that was recorded drops out weights; the native operation does not.");
  }
  return attention;
}

}  // namespace

Converted convert_attention(const Arguments& arguments, ConversionContext& context) {
  return {as_operation(attention_of(arguments, context), arguments,
                       {{"q", "query"}, {"k", "key"}, {"v", "value"}, {"y", 0}, {"logsumexp", 1}})};
}

Converted convert_attention_backward(const Arguments& arguments, ConversionContext& context) {
  Attention attention = attention_of(arguments, context);
  attention.pass = Pass::backward;
  const std::string_view dy = arguments.has_tensor("grad_out_") ? "grad_out_" : "grad_out";
  return {as_operation(attention, arguments,
                       {{"dy", dy},
                        {"q", "query"},
                        {"k", "key"},
                        {"v", "value"},
                        {"y", "out"},
                        {"logsumexp", "logsumexp"},
                        {"dq", 0},
                        {"dk", 1},
                        {"dv", 2}})};
}

}  // namespace jitterscope
