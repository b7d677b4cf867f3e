#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

Operation::Parameters read_attention(const ParameterReader& reader) {
  Attention attention;
  reader.require("batch", attention.batch);
  reader.require("heads", attention.heads);
  if (reader.has("kv_heads")) {
    reader.require("kv_heads", attention.kv_heads);
    // Zero, which in the field is "not given", is a mistake where it was typed.
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

// Of a query and a key that it sees, in one head.
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

// As FlashAttention's authors count: the products alone, two forward and five backward, of the pairs of
// query and key that are seen.
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
            {"queries", "length of the sequence that asks", ""},
            {"keys", "length of the sequence that is looked at", "queries"},
            {"dim", "elements of a query, key or value in one head", ""},
            {"causal", "1: query i sees keys 0 to i only", "0"},
            {"layout", "bhsd, bshd or sbhd: order of batch, heads, sequence and dim in memory", "bhsd"},
            {"dtype", "f64, f32, tf32 (f32 with products in TF32), f16 or bf16", "f16"},
            {"pass", "forward or backward", "forward"}}},
          read_attention};
}

}  // namespace jitterscope::kinds
