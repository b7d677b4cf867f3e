#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_matmul(const ParameterReader& reader) {
  Matmul matmul;
  reader.require("m", matmul.m);
  reader.require("n", matmul.n);
  reader.require("k", matmul.k);
  reader.read("batch", matmul.batch);
  reader.read("ta", matmul.transpose_a);
  reader.read("tb", matmul.transpose_b);
  reader.read("bias", matmul.bias);
  reader.read("dtype", matmul.dtype);
  reader.read_engine(matmul.engine);
  return matmul;
}

}  // namespace

std::string_view name(const Matmul&) { return "matmul"; }

void check(const Matmul& matmul) {
  check_range("matmul", "m", matmul.m, 1, kLargestDimension);
  check_range("matmul", "n", matmul.n, 1, kLargestDimension);
  check_range("matmul", "k", matmul.k, 1, kLargestDimension);
  check_range("matmul", "batch", matmul.batch, 1, kLargestDimension);
}

void write(const Matmul& matmul, ParameterWriter& writer) {
  const Matmul usual;
  writer.write("m", matmul.m);
  writer.write("n", matmul.n);
  writer.write("k", matmul.k);
  writer.write_unless(usual.batch, "batch", matmul.batch);
  writer.write_unless(usual.transpose_a, "ta", matmul.transpose_a);
  writer.write_unless(usual.transpose_b, "tb", matmul.transpose_b);
  writer.write_unless(usual.bias, "bias", matmul.bias);
  writer.write("dtype", matmul.dtype);
  writer.write_engine(matmul.engine);
}

double flops(const Matmul& matmul) {
  const double outputs =
      static_cast<double>(matmul.batch) * static_cast<double>(matmul.m) * static_cast<double>(matmul.n);
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

Kind matmul() {
  return {{"matmul",
           "matrix product, C = A*B, row-major",
           "matmul:m=4096,n=4096,k=4096,dtype=bf16",
           {{"m", "rows of A and C", ""},
            {"n", "columns of B and C", ""},
            {"k", "columns of A, rows of B", ""},
            {"batch", "independent products", "1"},
            {"ta", "1: A is stored transposed, k x m", "0"},
            {"tb", "1: B is stored transposed, n x k", "0"},
            {"bias", "1: a vector of n is added to each row", "0"},
            {"dtype", "f64, f32, tf32 (f32 with products in TF32), f16 or bf16", "f32"},
            {"engine", "pytorch, or a cuBLASLt algorithm as results name it", "pytorch"}}},
          read_matmul};
}

namespace {

Operation::Parameters read_linear(const ParameterReader& reader) {
  Linear linear;
  reader.require("n", linear.n);
  reader.require("in", linear.in);
  reader.require("out", linear.out);
  reader.read("bias", linear.bias);
  reader.read("dtype", linear.dtype);
  reader.read_engine(linear.engine);
  return linear;
}

}  // namespace

std::string_view name(const Linear&) { return "linear"; }

void check(const Linear& linear) {
  check_range("linear", "n", linear.n, 1, kLargestDimension);
  check_range("linear", "in", linear.in, 1, kLargestDimension);
  check_range("linear", "out", linear.out, 1, kLargestDimension);
}

void write(const Linear& linear, ParameterWriter& writer) {
  const Linear usual;
  writer.write("n", linear.n);
  writer.write("in", linear.in);
  writer.write("out", linear.out);
  writer.write_unless(usual.bias, "bias", linear.bias);
  writer.write("dtype", linear.dtype);
  writer.write_engine(linear.engine);
}

double flops(const Linear& linear) {
  const double outputs = static_cast<double>(linear.n) * static_cast<double>(linear.out);
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

Kind linear() {
  return {{"linear",
           "fully connected layer, y = x*W^T + bias, as torch.nn.Linear",
           "linear:n=256,in=2048,out=1000,dtype=f16",
           {{"n", "rows of x", ""},
            {"in", "input features", ""},
            {"out", "output features", ""},
            {"bias", "0: without bias", "1"},
            {"dtype", "f64, f32, tf32 (f32 with products in TF32), f16 or bf16", "f32"},
            {"engine", "pytorch, or a cuBLASLt algorithm as results name it", "pytorch"}}},
          read_linear};
}

namespace {

Operation::Parameters read_attention(const ParameterReader& reader) {
  Attention attention;
  reader.require("batch", attention.batch);
  reader.require("heads", attention.heads);
  if (reader.has("kv_heads")) {
    reader.require("kv_heads", attention.kv_heads);
    // In the field zero means "not given"; typed by a user it is a mistake.
    check_range("attention", "kv_heads", attention.kv_heads, 1, kLargestDimension);
  }
  reader.require("queries", attention.queries);
  attention.keys = attention.queries;
  reader.read("keys", attention.keys);
  reader.require("dim", attention.dim);
  reader.read("causal", attention.causal);
  reader.read("layout", attention.layout);
  reader.read("dtype", attention.dtype);
  reader.read("pass", attention.pass);
  return attention;
}

// Returns the number of pairs of a query and a key that it sees, in one head.
double pairs(const Attention& attention) {
  const auto queries = static_cast<double>(attention.queries), keys = static_cast<double>(attention.keys);
  if (!attention.causal) return queries * keys;
  const double growing = std::min(queries, keys);  // query i sees i + 1 keys until it sees all
  return growing * (growing + 1.0) / 2.0 + (queries - growing) * keys;
}

}  // namespace

std::string_view name(const Attention&) { return "attention"; }

void check(const Attention& attention) {
  for (const auto& [parameter, value] :
       {std::pair{"batch", attention.batch}, std::pair{"heads", attention.heads},
        std::pair{"kv_heads", attention.kv_heads}, std::pair{"queries", attention.queries},
        std::pair{"keys", attention.keys}, std::pair{"dim", attention.dim}}) {
    check_range("attention", parameter, value, 1, kLargestDimension);
  }
  if (attention.heads % attention.kv_heads != 0) {
    throw UsageError(fmt::format(
        "attention: kv_heads={} does not divide heads={}; give one that does, as each head of keys "
        "serves equally many heads of queries",
        attention.kv_heads, attention.heads));
  }
  check_pass("attention", attention.pass);
}

void write(const Attention& attention, ParameterWriter& writer) {
  writer.write("batch", attention.batch);
  writer.write("heads", attention.heads);
  writer.write_unless(attention.heads, "kv_heads", attention.kv_heads);
  writer.write("queries", attention.queries);
  writer.write_unless(attention.queries, "keys", attention.keys);
  writer.write("dim", attention.dim);
  writer.write_unless(false, "causal", attention.causal);
  writer.write_unless(HeadLayout::bhsd, "layout", attention.layout);
  writer.write("dtype", attention.dtype);
  writer.write_unless(Pass::forward, "pass", attention.pass);
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

Kind attention() {
  return {{"attention",
           "softmax(q*k^T/sqrt(dim))*v of each head, as torch's scaled_dot_product_attention",
           "attention:batch=8,heads=16,queries=2048,dim=64,causal=1,dtype=bf16",
           {{"batch", "batch size", ""},
            {"heads", "heads of queries", ""},
            {"kv_heads", "heads of keys and values, each shared by heads/kv_heads of queries; divides heads",
             "heads"},
            {"queries", "length of the sequence of queries", ""},
            {"keys", "length of the sequence of keys and values", "queries"},
            {"dim", "elements of a query, key or value in one head", ""},
            {"causal", "1: query i sees keys 0 to i only", "0"},
            {"layout", "bhsd, bshd or sbhd: order of batch, heads, sequence and dim in memory", "bhsd"},
            {"dtype", "f64, f32, tf32 (f32 with products in TF32), f16 or bf16", "f16"},
            {"pass", "forward or backward", "forward"}}},
          read_attention};
}

namespace {

Operation::Parameters read_layer_norm(const ParameterReader& reader) {
  LayerNorm norm;
  reader.require("rows", norm.rows);
  reader.require("columns", norm.columns);
  reader.read("dtype", norm.dtype);
  reader.read("pass", norm.pass);
  return norm;
}

}  // namespace

std::string_view name(const LayerNorm&) { return "layer_norm"; }

void check(const LayerNorm& norm) {
  check_range("layer_norm", "rows", norm.rows, 1, kLargestDimension);
  check_range("layer_norm", "columns", norm.columns, 1, kLargestDimension);
  check_pass("layer_norm", norm.pass);
}

void write(const LayerNorm& norm, ParameterWriter& writer) {
  writer.write("rows", norm.rows);
  writer.write("columns", norm.columns);
  writer.write("dtype", norm.dtype);
  writer.write_unless(Pass::forward, "pass", norm.pass);
}

// Operations for each element of x, without those done once for a row. Forward: mean 1, variance 3, scaling
// and shifting 4. Backward: normalizing x again 2, dy times the weight 1, sums along the row 3, dweight and
// dbias 3, dx 4.
double flops(const LayerNorm& norm) {
  const double elements = static_cast<double>(norm.rows) * static_cast<double>(norm.columns);
  return (norm.pass == Pass::backward ? 13.0 : 8.0) * elements;
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

Kind layer_norm() {
  return {{"layer_norm",
           "normalizes each row of a matrix, as torch.nn.LayerNorm",
           "layer_norm:rows=8192,columns=768,dtype=f16",
           {{"rows", "rows, as batch times sequence", ""},
            {"columns", "elements that are normalized together", ""},
            {"dtype", "f64, f32, tf32 (as f32), f16 or bf16; statistics of the last two are f32", "f32"},
            {"pass", "forward or backward", "forward"}}},
          read_layer_norm};
}

namespace {

template <bool Logarithm>
Operation::Parameters read_softmax(const ParameterReader& reader) {
  Softmax softmax;
  softmax.logarithm = Logarithm;
  reader.require("rows", softmax.rows);
  reader.require("columns", softmax.columns);
  reader.read("dtype", softmax.dtype);
  reader.read("pass", softmax.pass);
  return softmax;
}

OperationHelp softmax_help(const std::string& kind, const std::string& summary) {
  return {kind,
          summary,
          kind + ":rows=8192,columns=1024,dtype=f16",
          {{"rows", "rows, each apart", ""},
           {"columns", "elements of a row", ""},
           {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"},
           {"pass", "forward (y from x) or backward (dx from dy, y)", "forward"}}};
}

}  // namespace

std::string_view name(const Softmax& softmax) { return softmax.logarithm ? "log_softmax" : "softmax"; }

void check(const Softmax& softmax) {
  check_range(name(softmax), "rows", softmax.rows, 1, kLargestDimension);
  check_range(name(softmax), "columns", softmax.columns, 1, kLargestDimension);
  check_pass(name(softmax), softmax.pass);
}

void write(const Softmax& softmax, ParameterWriter& writer) {
  writer.write("rows", softmax.rows);
  writer.write("columns", softmax.columns);
  writer.write("dtype", softmax.dtype);
  writer.write_unless(Pass::forward, "pass", softmax.pass);
}

// Operations for each element. Forward: maximum, its subtraction, exponential, sum, and the division (or the
// subtraction of the logarithm). Backward: the sum along the row 2 (log_softmax: 1 and an exponential), dx 2.
double flops(const Softmax& softmax) {
  const double elements = static_cast<double>(softmax.rows) * static_cast<double>(softmax.columns);
  return (softmax.pass == Pass::backward ? 4.0 : 5.0) * elements;
}

std::vector<Operand> operands(const Softmax& softmax) {
  using enum OperandRole;
  const auto matrix = [&](const char* operand_name, OperandRole role) {
    return Operand{operand_name, role, softmax.dtype, limited_product({softmax.rows, softmax.columns})};
  };
  if (softmax.pass == Pass::backward) return {matrix("dy", input), matrix("y", input), matrix("dx", output)};
  return {matrix("x", input), matrix("y", output)};
}

std::vector<Kind> softmaxes() {
  return {{softmax_help("softmax", "exp(x) of each row, divided by its sum"), read_softmax<false>},
          {softmax_help("log_softmax", "the logarithm of softmax"), read_softmax<true>}};
}

namespace {

Operation::Parameters read_embedding(const ParameterReader& reader) {
  Embedding embedding;
  reader.require("count", embedding.count);
  reader.require("rows", embedding.rows);
  reader.require("columns", embedding.columns);
  reader.read("dtype", embedding.dtype);
  reader.read("pass", embedding.pass);
  return embedding;
}

}  // namespace

std::string_view name(const Embedding&) { return "embedding"; }

void check(const Embedding& embedding) {
  check_range("embedding", "count", embedding.count, 1, kLargestDimension);
  check_range("embedding", "rows", embedding.rows, 1, kLargestDimension);
  check_range("embedding", "columns", embedding.columns, 1, kLargestDimension);
  check_pass("embedding", embedding.pass);
}

void write(const Embedding& embedding, ParameterWriter& writer) {
  writer.write("count", embedding.count);
  writer.write("rows", embedding.rows);
  writer.write("columns", embedding.columns);
  writer.write("dtype", embedding.dtype);
  writer.write_unless(Pass::forward, "pass", embedding.pass);
}

// Forward only copies; backward adds each element of dy to its row.
double flops(const Embedding& embedding) {
  if (embedding.pass == Pass::forward) return 0.0;
  return static_cast<double>(embedding.count) * static_cast<double>(embedding.columns);
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

Kind embedding() {
  return {{"embedding",
           "the rows of a table that random indices name, as torch.nn.Embedding",
           "embedding:count=8192,rows=50257,columns=768,dtype=f16",
           {{"count", "indices, as batch times sequence", ""},
            {"rows", "rows of the table: the vocabulary", ""},
            {"columns", "elements of a row", ""},
            {"dtype", "f64, f32, tf32 (as f32), f16 or bf16", "f32"},
            {"pass", "forward or backward (the table's gradient, dense)", "forward"}}},
          read_embedding};
}

}  // namespace jitterscope::kinds
