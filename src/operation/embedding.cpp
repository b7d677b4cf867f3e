#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
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
