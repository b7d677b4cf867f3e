#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "import/import.hpp"
#include "import/library_log.hpp"
#include "import/model_builder.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "operation/operation.hpp"

// Imports logs of cuBLAS and cuBLASLt. Both describe matrix products column-major: D = op(A)·op(B).

namespace jitterscope {
namespace {

using namespace library_log;

struct LoggedMatrix {
  std::string type;  ///< R_32F, R_16BF…
  std::int64_t rows = 0, columns = 0, leading = 0;
  std::int64_t batch = 1, batch_stride = 0;
};

struct LoggedProduct {
  LoggedMatrix a, b, d;
  bool transpose_a = false, transpose_b = false, bias = false;
  std::string compute;  ///< COMPUTE_32F, COMPUTE_32F_FAST_TF32…
  std::string engine;
};

DataType type_of_product(const LoggedProduct& product) {
  const std::string &type = product.a.type, &compute = product.compute;
  if (product.b.type != type || product.d.type != type) {
    throw UsageError(fmt::format("its matrices are of {}, {} and {}, and matmul's are of one type", type,
                                 product.b.type, product.d.type));
  }
  if (type == "R_32F" && compute == "COMPUTE_32F") return DataType::f32;
  if (type == "R_32F" && compute == "COMPUTE_32F_FAST_TF32") return DataType::tf32;
  if (type == "R_16F" && compute == "COMPUTE_32F") return DataType::f16;
  if (type == "R_16BF" && compute == "COMPUTE_32F") return DataType::bf16;
  if (type == "R_64F" && compute == "COMPUTE_64F") return DataType::f64;
  throw UsageError(fmt::format("it computes {} in {}, which matmul does not", type, compute));
}

void check_dense(const LoggedMatrix& matrix, std::string_view name, std::int64_t batch) {
  if (matrix.leading != matrix.rows && matrix.columns != 1) {
    throw UsageError(fmt::format("{} is part of a larger matrix (ld={} for {} rows), and matmul's are dense",
                                 name, matrix.leading, matrix.rows));
  }
  if (matrix.batch != batch) throw UsageError(fmt::format("{} has another batch than D", name));
  if (batch > 1 && matrix.batch_stride != matrix.rows * matrix.columns) {
    throw UsageError(
        fmt::format("the matrices of its batch are not one after another in {}, and matmul's are", name));
  }
}

// Returns linear for x·Wᵀ with a bias, else matmul. Throws UsageError that says why neither fits.
Operation product_of(const LoggedProduct& product) {
  const LoggedMatrix &a = product.a, &b = product.b, &d = product.d;
  const std::int64_t k = product.transpose_a ? a.rows : a.columns;
  const bool fits = (product.transpose_a ? a.columns : a.rows) == d.rows &&
                    (product.transpose_b ? b.rows : b.columns) == d.columns &&
                    (product.transpose_b ? b.columns : b.rows) == k;
  if (!fits) throw UsageError("the shapes of its matrices do not fit each other");
  // A column-major matrix is its transpose in row-major order: Dᵀ = op(B)ᵀ·op(A)ᵀ. So A and B change places.
  const Matmul matmul{.m = d.columns,
                      .n = d.rows,
                      .k = k,
                      .batch = d.batch,
                      .transpose_a = product.transpose_b,
                      .transpose_b = product.transpose_a,
                      .bias = product.bias,
                      .dtype = type_of_product(product),
                      .engine = product.engine};
  Operation operation(matmul);  // checks the sizes before they are multiplied
  check_dense(a, "A", d.batch);
  check_dense(b, "B", d.batch);
  check_dense(d, "D", d.batch);
  if (matmul.bias && matmul.transpose_b && !matmul.transpose_a && matmul.batch == 1) {
    return Operation(Linear{.n = matmul.m,
                            .in = matmul.k,
                            .out = matmul.n,
                            .bias = true,
                            .dtype = matmul.dtype,
                            .engine = matmul.engine});
  }
  return operation;
}

// Reads OP_N, OP_T and OP_C, which equals OP_T for real numbers. Throws UsageError for other words.
bool is_transposed(std::string_view operation) {
  if (operation == "OP_N") return false;
  if (operation == "OP_T" || operation == "OP_C") return true;
  throw UsageError(fmt::format("it applies {} to a matrix, which matmul does not", operation));
}

/// Thrown if a record lacks a field that all of its kind have.
struct Damage {
  std::string what;
};

/// The fields of a record, by their names.
class RecordFields {
 public:
  virtual ~RecordFields() = default;
  virtual std::optional<std::string_view> find(std::string_view name) const = 0;

  /// Returns a field's word without this prefix. Throws Damage if it is missing or empty.
  std::string_view word(std::string_view name, std::string_view prefix = {}) const {
    std::string_view value = find(name).value_or(std::string_view());
    if (value.empty()) throw Damage{fmt::format("lacks {}", name)};
    consume(value, prefix);
    return value;
  }
  /// Throws Damage if there is no number; a field that is missing has the usual one, if there is one.
  std::int64_t number(std::string_view name, std::optional<std::int64_t> usual = std::nullopt) const {
    if (usual && !find(name)) return *usual;
    const std::optional<std::int64_t> value = whole_number(word(name));
    if (!value) throw Damage{fmt::format("has no number in {}", name)};
    return *value;
  }
};

/// Adds the product that `read` returns. If it throws, adds an untimed call or a damaged record instead.
template <class Read>
void add_product(LogModel& model, std::string_view function, std::int64_t line, const Read& read) {
  try {
    model.add_call(read(), quotable(function), line);
  } catch (const UsageError& why) {
    model.add_untimed(quotable(function), why.what());
  } catch (const Damage& damage) {
    model.add_damaged(line, damage.what);
  }
}

[[noreturn]] void fail_of_beta(std::string_view beta) {
  throw UsageError(fmt::format("it adds its product to C (beta={}), which matmul does not", beta));
}

constexpr std::string_view kHowToRecordCublas =
    "CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=log.txt before the program";

/// The properties that a function's name gives.
struct Function {
  std::string_view type;      ///< R_32F for cublasSgemm; empty if arguments say it
  bool is_batched = false;    ///< a batch, one matrix after another in memory
  bool has_pointers = false;  ///< a batch, by a list of pointers
};

std::optional<Function> product_function(std::string_view name) {
  for (const std::string_view suffix : {"_64", "_v2"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  if (!consume(name, "cublas")) return std::nullopt;
  Function function;
  if (!consume(name, "Gemm") && !consume(name, "Sgemm")) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kTypes = {
        {{"Dgemm", "R_64F"}, {"Hgemm", "R_16F"}}};
    for (const auto& [prefix, type] : kTypes) {
      if (function.type.empty() && consume(name, prefix)) function.type = type;
    }
    if (function.type.empty()) return std::nullopt;
  } else if (!name.ends_with("Ex")) {
    function.type = "R_32F";
  }
  if (name.ends_with("Ex")) name.remove_suffix(2);
  function.is_batched = name == "StridedBatched";
  function.has_pointers = name == "Batched";
  if (!name.empty() && !function.is_batched && !function.has_pointers) return std::nullopt;
  return function;
}

bool only_prepares(std::string_view function) {
  constexpr std::array<std::string_view, 7> kBeginnings = {"cublasCreate",  "cublasDestroy", "cublasSet",
                                                           "cublasGet",     "cublasLogger",  "cublasInit",
                                                           "cublasShutdown"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view beginning) { return function.starts_with(beginning); });
}

class Arguments : public RecordFields {
 public:
  explicit Arguments(const ApiRecord& record) : fields_(record.arguments()) {}

  std::optional<std::string_view> find(std::string_view name) const override {
    const std::optional<ApiFields> found = fields_.find(name);
    return found ? std::optional(found->value()) : std::nullopt;
  }
  /// Returns alpha or beta; nullopt if the log has only its address, as it mostly does.
  std::optional<double> factor(std::string_view name) const { return real_number(word(name)); }

 private:
  ApiFields fields_;
};

LoggedMatrix matrix_of(const Arguments& arguments, const Function& function, char name, std::int64_t rows,
                       std::int64_t columns) {
  LoggedMatrix matrix{.type = std::string(function.type),
                      .rows = rows,
                      .columns = columns,
                      .leading = arguments.number(fmt::format("ld{}", static_cast<char>(name - 'A' + 'a')))};
  if (matrix.type.empty()) matrix.type = quotable(arguments.word(fmt::format("{}type", name), "CUDA_"));
  if (function.is_batched) {
    matrix.batch = arguments.number("batchCount");
    matrix.batch_stride = arguments.number(fmt::format("stride{}", name));
  }
  return matrix;
}

std::string compute_of(const Arguments& arguments, const Function& function, bool allows_tf32) {
  std::string compute = function.type == "R_64F" ? "COMPUTE_64F" : "COMPUTE_32F";
  if (function.type == "R_16F") compute = "COMPUTE_16F";
  if (arguments.find("computeType")) {
    compute = quotable(arguments.word("computeType", "CUBLAS_"));
    // Before cuBLAS 11 the compute type was a data type.
    if (compute == "CUDA_R_32F") compute = "COMPUTE_32F";
    if (compute == "CUDA_R_64F") compute = "COMPUTE_64F";
  }
  return compute == "COMPUTE_32F" && allows_tf32 ? "COMPUTE_32F_FAST_TF32" : compute;
}

LoggedProduct product_in(const ApiRecord& record, const Function& function) {
  const Arguments arguments(record);
  const std::int64_t m = arguments.number("m"), n = arguments.number("n"), k = arguments.number("k");
  const bool ta = is_transposed(arguments.word("transa", "CUBLAS_"));
  const bool tb = is_transposed(arguments.word("transb", "CUBLAS_"));
  if (const std::optional<double> beta = arguments.factor("beta"); beta && *beta != 0.0)
    fail_of_beta(fmt::format("{}", *beta));
  LoggedProduct product{.a = matrix_of(arguments, function, 'A', ta ? k : m, ta ? m : k),
                        .b = matrix_of(arguments, function, 'B', tb ? n : k, tb ? k : n),
                        .d = matrix_of(arguments, function, 'C', m, n),
                        .transpose_a = ta,
                        .transpose_b = tb,
                        .compute = {},
                        .engine = {}};
  // The math mode belongs to the handle and affects fp32 only.
  const bool tf32 = product.a.type == "R_32F" && after(record.foot, "MathMode=CUBLAS_TF32_TENSOR_OP_MATH");
  product.compute = compute_of(arguments, function, tf32);
  return product;
}

void read(LogModel& model, const ApiRecord& record, bool& has_hidden_beta) {
  model.in_process(record.process());
  const std::optional<Function> function = product_function(record.function);
  if (!function) {
    if (!only_prepares(record.function)) {
      model.add_untimed(quotable(record.function),
                        "of cuBLAS's functions only products of matrices are timed");
    }
    return;
  }
  if (!record.is_complete) return model.add_damaged(record.line, "is a call without its end");
  add_product(model, record.function, record.line, [&] {
    if (function->has_pointers) throw UsageError("its matrices lie anywhere, by a list of pointers");
    const Operation operation = product_of(product_in(record, *function));
    has_hidden_beta = has_hidden_beta || !Arguments(record).factor("beta");
    return operation;
  });
}

}  // namespace

Model import_cublas_log(std::string_view text, std::string_view file_name) {
  LogModel model("cuBLAS", file_name, kHowToRecordCublas);
  bool has_hidden_beta = false;
  ApiRecordReader records(text, "cuBLAS");
  while (const std::optional<ApiRecord> record = records.next()) read(model, *record, has_hidden_beta);
  if (has_hidden_beta) {
    model.note(
        "The log has addresses in place of alpha and beta; each product is taken as C = A·B, not added to "
        "C.");
  }
  model.note(
      "The log does not name the algorithm that cuBLAS chose, so that jitterscope's choice is timed; a "
      "cuBLASLt log (CUBLASLT_LOG_LEVEL=2) names it.");
  return std::move(model).finish("no product of cuBLAS");
}

namespace {

constexpr std::string_view kHowToRecordCublaslt =
    "CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=log.txt before the program";

/// The fields of one record: `name=value name=[name=value …] …`.
class Fields : public RecordFields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  std::optional<std::string_view> find(std::string_view name) const override {
    for (std::size_t at = text_.find(name); at != std::string_view::npos; at = text_.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool whole_word = at == 0 || text_[at - 1] == ' ' || text_[at - 1] == '[';
      if (!whole_word || end >= text_.size() || text_[end] != '=') continue;
      std::string_view value = text_.substr(end + 1);
      if (!consume(value, "[")) return until(value, " ]");
      if (value.find(']') == std::string_view::npos) throw Damage{"ends in the middle"};
      return until(value, "]");
    }
    return std::nullopt;
  }
  std::string_view word_or(std::string_view name, std::string_view usual) const {
    return find(name).value_or(usual);
  }

 private:
  std::string_view text_;
};

LoggedMatrix matrix_of(std::string_view layout) {
  const Fields fields(layout);
  const std::string_view order = fields.word_or("order", "ORDER_COL");
  if (order != "ORDER_COL" && order != "COL") {
    throw UsageError(fmt::format("a matrix of it is stored in {}, and matmul's are dense", quotable(order)));
  }
  return {.type = quotable(fields.word("type")),
          .rows = fields.number("rows"),
          .columns = fields.number("cols"),
          .leading = fields.number("ld"),
          .batch = fields.number("batchCount", 1),
          .batch_stride = fields.number("stridedBatchOffset", 0)};
}

std::string engine_of(std::string_view algorithm) {
  Fields(algorithm).number("algoId");  // throws if the algorithm has no algoId
  std::string engine = cublaslt_tag(algorithm);
  if (!is_engine(engine)) throw Damage{"has an algorithm that cannot be read"};
  return engine;
}

// All but the engine.
LoggedProduct described_product(const Fields& fields) {
  const Fields compute(fields.word("computeDesc"));
  std::string_view epilogue = compute.word_or("epilogue", "EPILOGUE_DEFAULT");
  consume(epilogue, "EPILOGUE_");
  if (epilogue != "DEFAULT" && epilogue != "BIAS") {
    throw UsageError(fmt::format("its epilogue {} does more than add a bias", quotable(epilogue)));
  }
  const std::string_view beta = fields.word("beta");
  if (real_number(beta).value_or(1.0) != 0.0) fail_of_beta(quotable(beta));
  return {.a = matrix_of(fields.word("Adesc")),
          .b = matrix_of(fields.word("Bdesc")),
          .d = matrix_of(fields.word("Ddesc")),
          .transpose_a = is_transposed(compute.word_or("transa", "OP_N")),
          .transpose_b = is_transposed(compute.word_or("transb", "OP_N")),
          .bias = epilogue == "BIAS",
          .compute = quotable(compute.word("computeType")),
          .engine = {}};
}

LoggedProduct product_in(std::string_view text) {
  const Fields fields(text);
  LoggedProduct product = described_product(fields);
  product.engine = engine_of(fields.word("algo"));
  return product;
}

// A record is "[2026-11-21 08:45:12][cublasLt][475][Trace][cublasLtMatmul] A=0X… Adesc=[…] …".
struct Record {
  std::string_view level, function, fields;
};

std::optional<Record> record_in(std::string_view line) {
  std::optional<std::string_view> rest = after(line, "[cublasLt][");
  if (rest) rest = after(*rest, "][");
  if (!rest) return std::nullopt;
  Record record{.level = until(*rest, "]"), .function = {}, .fields = {}};
  rest = after(*rest, "][");
  if (!rest || rest->find(']') == std::string_view::npos) return std::nullopt;
  record.function = until(*rest, "]");
  record.fields = rest->substr(record.function.size() + 1);
  return record;
}

class CublasltImporter {
 public:
  explicit CublasltImporter(std::string_view file_name)
      : model_("cuBLASLt", file_name, kHowToRecordCublaslt) {}

  void read(const Line& line) {
    const std::optional<Record> record = record_in(line.text);
    if (!record) {
      if (!trimmed(line.text).empty()) model_.add_damaged(line.number, "is not a record of cuBLASLt");
    } else if (record->level != "Trace") {
      ++skipped_[quotable(record->level)];
    } else if (record->function.starts_with("cublasLt") && record->function.ends_with("Matmul")) {
      read_product(*record, line);
    } else {
      model_.add_untimed(quotable(record->function),
                         "of cuBLASLt's functions only products of matrices are timed");
    }
  }

  Model finish() && {
    note_skipped();
    if (!internal_.empty()) {
      model_.note(
          fmt::format("Products that a program asks cuBLAS for (cublasGemmEx, cublasSgemm…) are here too, "
                      "where cuBLAS runs them by cuBLASLt: the calls of {}.",
                      fmt::join(internal_, ", ")));
    }
    if (tf32_) {
      model_.note(
          "Products that cuDNN runs by cuBLASLt within its convolutions are logged as those of the program "
          "are; those in tf32 are likely such ones, as PyTorch's own products are f32 by default.");
    }
    return std::move(model_).finish("no traced product of cuBLASLt");
  }

 private:
  void read_product(const Record& record, const Line& line) {
    add_product(model_, record.function, line.number, [&] {
      const Operation operation = product_of(product_in(record.fields));
      if (record.function != "cublasLtMatmul") internal_.insert(quotable(record.function));
      tf32_ = tf32_ || operation.dtype() == DataType::tf32;
      return operation;
    });
  }

  void note_skipped() {
    if (skipped_.empty()) return;
    std::vector<std::string> levels;
    for (const auto& [level, count] : skipped_) levels.push_back(fmt::format("{} {}", count, level));
    model_.note(fmt::format("Lines of other levels than Trace are not executions and were skipped: {}.",
                            fmt::join(levels, ", ")));
  }

  LogModel model_;
  std::map<std::string, std::int64_t> skipped_;
  std::set<std::string> internal_;
  bool tf32_ = false;
};

}  // namespace

Operation library_log::product_of_words(std::string_view words, std::string_view engine) {
  const Fields fields(words);
  try {
    if (fields.find("by_pointers")) throw UsageError("its matrices lie anywhere, by a list of pointers");
    LoggedProduct product = described_product(fields);
    if (is_engine(engine)) product.engine = engine;
    return product_of(product);
  } catch (const Damage& damage) {
    throw UsageError(fmt::format("its record {}", damage.what));
  }
}

Model import_cublaslt_log(std::string_view text, std::string_view file_name) {
  CublasltImporter importer(file_name);
  LineReader lines(text);
  while (const std::optional<Line> line = lines.next()) importer.read(*line);
  return std::move(importer).finish();
}

}  // namespace jitterscope
