#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/api_record.hpp"
#include "import/library_logs.hpp"
#include "import/log_model.hpp"
#include "import/log_product.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using namespace library_log;

constexpr std::string_view kHowToRecordCublas =
    "CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=log.txt before the program";

/// A record lacks what each of its kind has.
struct CublasDamage {
  std::string what;
};

/// What a function's name says.
struct Function {
  std::string_view type;      ///< R_32F of cublasSgemm; empty where arguments say it
  bool is_batched = false;    ///< one product after another in memory
  bool has_pointers = false;  ///< batched, by a list of pointers
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

class Arguments {
 public:
  explicit Arguments(const ApiRecord& record) : fields_(record.arguments()) {}

  std::string_view word(std::string_view name, std::string_view prefix) const {
    const std::optional<ApiFields> found = fields_.find(name);
    std::string_view value = found ? found->value() : std::string_view();
    if (value.empty()) throw CublasDamage{fmt::format("lacks {}", name)};
    consume(value, prefix);
    return value;
  }
  std::int64_t number(std::string_view name) const {
    const std::optional<std::int64_t> value = whole_number(word(name, ""));
    if (!value) throw CublasDamage{fmt::format("has no number in {}", name)};
    return *value;
  }
  /// A number where the log has one; it has mostly the address.
  std::optional<double> factor(std::string_view name) const { return real_number(word(name, "")); }
  bool has(std::string_view name) const { return fields_.find(name).has_value(); }

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
  if (arguments.has("computeType")) {
    compute = quotable(arguments.word("computeType", "CUBLAS_"));
    // Before cuBLAS 11 it was a data type.
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
  if (const std::optional<double> beta = arguments.factor("beta"); beta && *beta != 0.0) {
    throw UsageError(fmt::format("it adds its product to C (beta={}), which matmul does not", *beta));
  }
  LoggedProduct product{.a = matrix_of(arguments, function, 'A', ta ? k : m, ta ? m : k),
                        .b = matrix_of(arguments, function, 'B', tb ? n : k, tb ? k : n),
                        .d = matrix_of(arguments, function, 'C', m, n),
                        .transpose_a = ta,
                        .transpose_b = tb,
                        .compute = {},
                        .engine = {}};
  // The mode of the handle, which only fp32 heeds.
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
  try {
    if (function->has_pointers) throw UsageError("its matrices lie anywhere, by a list of pointers");
    const Operation operation = product_of(product_in(record, *function));
    model.add_call(operation, quotable(record.function), record.line);
    has_hidden_beta = has_hidden_beta || !Arguments(record).factor("beta");
  } catch (const UsageError& why) {
    model.add_untimed(quotable(record.function), why.what());
  } catch (const CublasDamage& damage) {
    model.add_damaged(record.line, damage.what);
  }
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

}  // namespace jitterscope
