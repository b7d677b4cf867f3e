#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>
#include <utility>

#include "import/library_logs.hpp"
#include "import/log_lines.hpp"
#include "import/log_model.hpp"
#include "import/log_product.hpp"
#include "jitterscope/error.hpp"
#include "operation/cublaslt_tag.hpp"

namespace jitterscope {
namespace {

using namespace library_log;

constexpr std::string_view kHowToRecordCublaslt =
    "CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=log.txt before the program";

/// A record lacks what each record has.
struct CublasltDamage {
  std::string what;
};

/// `name=value name=[name=value …] …` of one record.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  std::optional<std::string_view> find(std::string_view name) const {
    for (std::size_t at = text_.find(name); at != std::string_view::npos; at = text_.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool whole_word = at == 0 || text_[at - 1] == ' ' || text_[at - 1] == '[';
      if (!whole_word || end >= text_.size() || text_[end] != '=') continue;
      std::string_view value = text_.substr(end + 1);
      if (consume(value, "[")) {
        if (value.find(']') == std::string_view::npos) throw CublasltDamage{"ends in the middle"};
        return until(value, "]");
      }
      return until(value, " ]");
    }
    return std::nullopt;
  }
  std::string_view require(std::string_view name) const {
    const std::optional<std::string_view> value = find(name);
    if (!value || value->empty()) throw CublasltDamage{fmt::format("lacks {}", name)};
    return *value;
  }
  std::int64_t number(std::string_view name, std::optional<std::int64_t> usual = std::nullopt) const {
    const std::optional<std::string_view> value = find(name);
    if (!value && usual) return *usual;
    const std::optional<std::int64_t> number = whole_number(require(name));
    if (!number) throw CublasltDamage{fmt::format("has no number in {}", name)};
    return *number;
  }
  std::string_view word(std::string_view name, std::string_view usual) const {
    return find(name).value_or(usual);
  }

 private:
  std::string_view text_;
};

LoggedMatrix matrix_of(std::string_view layout) {
  const Fields fields(layout);
  const std::string_view order = fields.word("order", "ORDER_COL");
  if (order != "ORDER_COL" && order != "COL") {
    throw UsageError(fmt::format("a matrix of it is stored in {}, and matmul's are dense", quotable(order)));
  }
  return {.type = quotable(fields.require("type")),
          .rows = fields.number("rows"),
          .columns = fields.number("cols"),
          .leading = fields.number("ld"),
          .batch = fields.number("batchCount", 1),
          .batch_stride = fields.number("stridedBatchOffset", 0)};
}

std::string engine_of(std::string_view algorithm) {
  Fields(algorithm).number("algoId");  // a tag that begins with something else is damage of its own
  std::string engine = cublaslt_tag(algorithm);
  if (!is_engine(engine)) throw CublasltDamage{"has an algorithm that cannot be read"};
  return engine;
}

LoggedProduct product_in(std::string_view text) {
  const Fields fields(text);
  const Fields compute(fields.require("computeDesc"));
  std::string_view epilogue = compute.word("epilogue", "EPILOGUE_DEFAULT");
  consume(epilogue, "EPILOGUE_");
  if (epilogue != "DEFAULT" && epilogue != "BIAS") {
    throw UsageError(fmt::format("its epilogue {} does more than add a bias", quotable(epilogue)));
  }
  const std::string_view beta = fields.require("beta");
  if (real_number(beta).value_or(1.0) != 0.0) {
    throw UsageError(
        fmt::format("it adds its product to C (beta={}), which matmul does not", quotable(beta)));
  }
  return {.a = matrix_of(fields.require("Adesc")),
          .b = matrix_of(fields.require("Bdesc")),
          .d = matrix_of(fields.require("Ddesc")),
          .transpose_a = is_transposed(compute.word("transa", "OP_N")),
          .transpose_b = is_transposed(compute.word("transb", "OP_N")),
          .bias = epilogue == "BIAS",
          .compute = quotable(compute.require("computeType")),
          .engine = engine_of(fields.require("algo"))};
}

// "[2026-11-21 08:45:12][cublasLt][475][Trace][cublasLtMatmul] A=0X… Adesc=[…] …"
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

class Importer {
 public:
  explicit Importer(std::string_view file_name) : model_("cuBLASLt", file_name, kHowToRecordCublaslt) {}

  void read(const Line& line) {
    const std::optional<Record> record = record_in(line.text);
    if (!record) {
      if (!trimmed(line.text).empty()) model_.add_damaged(line.number, "is no record of cuBLASLt");
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
    try {
      const Operation operation = product_of(product_in(record.fields));
      model_.add_call(operation, quotable(record.function), line.number);
      if (record.function != "cublasLtMatmul") internal_.insert(quotable(record.function));
      tf32_ = tf32_ || operation.dtype() == DataType::tf32;
    } catch (const UsageError& why) {
      model_.add_untimed(quotable(record.function), why.what());
    } catch (const CublasltDamage& damage) {
      model_.add_damaged(line.number, damage.what);
    }
  }

  void note_skipped() {
    if (skipped_.empty()) return;
    std::vector<std::string> levels;
    for (const auto& [level, count] : skipped_) levels.push_back(fmt::format("{} {}", count, level));
    model_.note(fmt::format("Lines of other levels than Trace are no executions and were skipped: {}.",
                            fmt::join(levels, ", ")));
  }

  LogModel model_;
  std::map<std::string, std::int64_t> skipped_;
  std::set<std::string> internal_;
  bool tf32_ = false;
};

}  // namespace

Model import_cublaslt_log(std::string_view text, std::string_view file_name) {
  Importer importer(file_name);
  LineReader lines(text);
  while (const std::optional<Line> line = lines.next()) importer.read(*line);
  return std::move(importer).finish();
}

}  // namespace jitterscope
