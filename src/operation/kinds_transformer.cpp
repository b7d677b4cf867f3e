#include <algorithm>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::kinds {
namespace {

constexpr std::string_view kEngineOfProduct = "pytorch, or a cuBLASLt algorithm as results name it";

void describe(Matmul& matmul, Fields& fields) {
  const Matmul usual;
  fields.required("m", "rows of A and C", matmul.m);
  fields.required("n", "columns of B and C", matmul.n);
  fields.required("k", "columns of A, rows of B", matmul.k);
  fields.optional("batch", "independent products", matmul.batch, usual.batch);
  fields.optional("ta", "1: A is stored transposed, k x m", matmul.transpose_a, usual.transpose_a);
  fields.optional("tb", "1: B is stored transposed, n x k", matmul.transpose_b, usual.transpose_b);
  fields.optional("bias", "1: a vector of n is added to each row", matmul.bias, usual.bias);
  fields.shown("dtype", kTypesOfProducts, matmul.dtype, usual.dtype);
  fields.engine(kEngineOfProduct, matmul.engine);
}

double flops(const Matmul& matmul) {
  const double outputs = real_product({matmul.batch, matmul.m, matmul.n});
  return outputs * (2.0 * static_cast<double>(matmul.k) + (matmul.bias ? 1.0 : 0.0));
}

std::vector<Operand> operands(const Matmul& matmul) {
  using enum OperandRole;
  std::vector<Operand> result = {
      {"a", input, matmul.dtype, limited_product({matmul.batch, matmul.m, matmul.k})},
      {"b", input, matmul.dtype, limited_product({matmul.batch, matmul.k, matmul.n})}};
  result.back().fan_in = matmul.k;
  if (matmul.bias) result.push_back({"bias", input, matmul.dtype, matmul.n});
  result.push_back({"c", output, matmul.dtype, limited_product({matmul.batch, matmul.m, matmul.n})});
  return result;
}

}  // namespace

const KindOf<Matmul>& kind_of(const Matmul&) {
  static const KindOf<Matmul> kind = {
      .words = {{"matmul", "matrix product, C = A*B, row-major", "matmul:m=4096,n=4096,k=4096,dtype=bf16"}},
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(Linear& linear, Fields& fields) {
  const Linear usual;
  fields.required("n", "rows of x", linear.n);
  fields.required("in", "input features", linear.in);
  fields.required("out", "output features", linear.out);
  fields.optional("bias", "0: without bias", linear.bias, usual.bias);
  fields.shown("dtype", kTypesOfProducts, linear.dtype, usual.dtype);
  fields.engine(kEngineOfProduct, linear.engine);
}

double flops(const Linear& linear) {
  const double outputs = real_product({linear.n, linear.out});
  return outputs * (2.0 * static_cast<double>(linear.in) + (linear.bias ? 1.0 : 0.0));
}

std::vector<Operand> operands(const Linear& linear) {
  using enum OperandRole;
  std::vector<Operand> result = {{"x", input, linear.dtype, limited_product({linear.n, linear.in})},
                                 {"w", input, linear.dtype, limited_product({linear.out, linear.in})}};
  result.back().fan_in = linear.in;
  if (linear.bias) result.push_back({"bias", input, linear.dtype, linear.out});
  result.push_back({"y", output, linear.dtype, limited_product({linear.n, linear.out})});
  return result;
}

}  // namespace

const KindOf<Linear>& kind_of(const Linear&) {
  static const KindOf<Linear> kind = {
      .words = {{"linear", "fully connected layer, y = x*W^T + bias, as torch.nn.Linear",
                 "linear:n=256,in=2048,out=1000,dtype=f16"}},
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(Attention& attention, Fields& fields) {
  const Attention usual;
  fields.required("batch", "batch size", attention.batch);
  fields.required("heads", "heads of queries", attention.heads);
  fields.optional("kv_heads",
                  "heads of keys and values, each shared by heads/kv_heads of queries; divides heads",
                  attention.kv_heads, {attention.heads, "heads"});
  fields.required("queries", "length of the sequence of queries", attention.queries);
  fields.optional("keys", "length of the sequence of keys and values", attention.keys,
                  {attention.queries, "queries"});
  fields.required("dim", "elements of a query, key or value in one head", attention.dim);
  fields.optional("causal", "1: query i sees keys 0 to i only", attention.causal, usual.causal);
  fields.optional("layout", "bhsd, bshd or sbhd: order of batch, heads, sequence and dim in memory",
                  attention.layout, usual.layout);
  fields.shown("dtype", kTypesOfProducts, attention.dtype, usual.dtype);
  fields.pass("forward or backward", attention.pass);
}

void normalize(Attention& attention) {
  if (attention.kv_heads == 0) attention.kv_heads = attention.heads;
}

void check(const Attention& attention) {
  if (attention.heads % attention.kv_heads == 0) return;
  throw UsageError(
      fmt::format("attention: kv_heads={} does not divide heads={}; give one that does, as each head of keys "
                  "serves equally many heads of queries",
                  attention.kv_heads, attention.heads));
}

// Returns the number of pairs of a query and a key that it sees, in one head.
double pairs(const Attention& attention) {
  const auto queries = static_cast<double>(attention.queries), keys = static_cast<double>(attention.keys);
  if (!attention.causal) return queries * keys;
  const double growing = std::min(queries, keys);  // query i sees i + 1 keys until it sees all
  return growing * (growing + 1.0) / 2.0 + (queries - growing) * keys;
}

// Counted like FlashAttention's authors: only the products (two forward, five backward) of the pairs of query
// and key that are seen.
double flops(const Attention& attention) {
  const double products = attention.pass == Pass::backward ? 5.0 : 2.0;
  return products * 2.0 * static_cast<double>(attention.batch) * static_cast<double>(attention.heads) *
         pairs(attention) * static_cast<double>(attention.dim);
}

std::vector<Operand> operands(const Attention& attention) {
  using enum OperandRole;
  const auto operand = [&](const char* operand_name, OperandRole role, std::int64_t heads,
                           std::int64_t sequence) {
    return Operand{operand_name, role, attention.dtype,
                   limited_product({attention.batch, heads, sequence, attention.dim})};
  };
  const auto of_queries = [&](const char* operand_name, OperandRole role) {
    return operand(operand_name, role, attention.heads, attention.queries);
  };
  const auto of_keys = [&](const char* operand_name, OperandRole role) {
    return operand(operand_name, role, attention.kv_heads, attention.keys);
  };
  const auto logsumexp = [&](OperandRole role) {
    return Operand{"logsumexp", role, DataType::f32,
                   limited_product({attention.batch, attention.heads, attention.queries})};
  };
  if (attention.pass == Pass::backward) {
    return {of_queries("dy", input),  of_queries("q", input), of_keys("k", input),
            of_keys("v", input),      of_queries("y", input), logsumexp(input),
            of_queries("dq", output), of_keys("dk", output),  of_keys("dv", output)};
  }
  return {of_queries("q", input), of_keys("k", input), of_keys("v", input), of_queries("y", output),
          logsumexp(output)};
}

}  // namespace

const KindOf<Attention>& kind_of(const Attention&) {
  static const KindOf<Attention> kind = {
      .words = {{"attention",
                 "softmax(q*k^T/sqrt(dim))*v of each head, as torch's scaled_dot_product_attention",
                 "attention:batch=8,heads=16,queries=2048,dim=64,causal=1,dtype=bf16"}},
      .describe = describe,
      .normalize = normalize,
      .check = check,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(LayerNorm& norm, Fields& fields) {
  const LayerNorm usual;
  fields.required("rows", "rows, as batch times sequence", norm.rows);
  fields.required("columns", "elements that are normalized together", norm.columns);
  fields.shown("dtype", kTypesBesideStatistics, norm.dtype, usual.dtype);
  fields.pass("forward or backward", norm.pass);
}

// Operations for each element of x, without those done once for a row. Forward: mean 1, variance 3, scaling
// and shifting 4. Backward: normalizing x again 2, dy times the weight 1, sums along the row 3, dweight and
// dbias 3, dx 4.
double flops(const LayerNorm& norm) {
  return (norm.pass == Pass::backward ? 13.0 : 8.0) * real_product({norm.rows, norm.columns});
}

std::vector<Operand> operands(const LayerNorm& norm) {
  using enum OperandRole;
  const auto matrix = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, norm.dtype, limited_product({norm.rows, norm.columns})};
  };
  const auto columns = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, norm.dtype, norm.columns};
  };
  const auto rows = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, statistics_type(norm.dtype), norm.rows};
  };
  if (norm.pass == Pass::backward) {
    Operand deviation = rows("deviation", input);
    deviation.non_negative = true;
    return {
        matrix("dy", input),      matrix("x", input),   rows("mean", input),        deviation,
        columns("weight", input), matrix("dx", output), columns("dweight", output), columns("dbias", output)};
  }
  return {matrix("x", input),  columns("weight", input), columns("bias", input),
          matrix("y", output), rows("mean", output),     rows("deviation", output)};
}

}  // namespace

const KindOf<LayerNorm>& kind_of(const LayerNorm&) {
  static const KindOf<LayerNorm> kind = {
      .words = {{"layer_norm", "normalizes each row of a matrix, as torch.nn.LayerNorm",
                 "layer_norm:rows=8192,columns=768,dtype=f16"}},
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(Softmax& softmax, Fields& fields) {
  const Softmax usual;
  fields.required("rows", "rows, each apart", softmax.rows);
  fields.required("columns", "elements of a row", softmax.columns);
  fields.shown("dtype", kTypes, softmax.dtype, usual.dtype);
  fields.pass("forward (y from x) or backward (dx from dy, y)", softmax.pass);
}

// Operations for each element. Forward: maximum, its subtraction, exponential, sum, and the division (or the
// subtraction of the logarithm). Backward: the sum along the row 2 (log_softmax: 1 and an exponential), dx 2.
double flops(const Softmax& softmax) {
  return (softmax.pass == Pass::backward ? 4.0 : 5.0) * real_product({softmax.rows, softmax.columns});
}

std::vector<Operand> operands(const Softmax& softmax) {
  using enum OperandRole;
  const auto matrix = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, softmax.dtype, limited_product({softmax.rows, softmax.columns})};
  };
  if (softmax.pass == Pass::backward) return {matrix("dy", input), matrix("y", input), matrix("dx", output)};
  return {matrix("x", input), matrix("y", output)};
}

}  // namespace

const KindOf<Softmax>& kind_of(const Softmax&) {
  static const KindOf<Softmax> kind = {
      .words = {{"softmax", "exp(x) of each row, divided by its sum",
                 "softmax:rows=8192,columns=1024,dtype=f16"},
                {"log_softmax", "the logarithm of softmax", "log_softmax:rows=8192,columns=1024,dtype=f16",
                 Softmax{.logarithm = true}}},
      .place = [](const Softmax& softmax) { return static_cast<std::size_t>(softmax.logarithm); },
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

namespace {

void describe(Embedding& embedding, Fields& fields) {
  const Embedding usual;
  fields.required("count", "indices, as batch times sequence", embedding.count);
  fields.required("rows", "rows of the table: the vocabulary", embedding.rows);
  fields.required("columns", "elements of a row", embedding.columns);
  fields.shown("dtype", kTypes, embedding.dtype, usual.dtype);
  fields.pass("forward or backward (the table's gradient, dense)", embedding.pass);
}

// Forward only copies; backward adds each element of dy to its row.
double flops(const Embedding& embedding) {
  return embedding.pass == Pass::forward ? 0.0 : real_product({embedding.count, embedding.columns});
}

std::vector<Operand> operands(const Embedding& embedding) {
  using enum OperandRole;
  const std::int64_t table = limited_product({embedding.rows, embedding.columns});
  const std::int64_t found = limited_product({embedding.count, embedding.columns});
  const Operand indices{"indices", input, DataType::i64, embedding.count, embedding.rows};
  if (embedding.pass == Pass::backward) {
    return {{"dy", input, embedding.dtype, found}, indices, {"dtable", output, embedding.dtype, table}};
  }
  return {indices, {"table", input, embedding.dtype, table}, {"y", output, embedding.dtype, found}};
}

}  // namespace

const KindOf<Embedding>& kind_of(const Embedding&) {
  static const KindOf<Embedding> kind = {
      .words = {{"embedding", "the rows of a table that random indices name, as torch.nn.Embedding",
                 "embedding:count=8192,rows=50257,columns=768,dtype=f16"}},
      .describe = describe,
      .flops = flops,
      .operands = operands};
  return kind;
}

}  // namespace jitterscope::kinds
