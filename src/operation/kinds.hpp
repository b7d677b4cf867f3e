// Everything that a kind of operation provides: reading, checking and printing its parameters, operands and
// FLOPs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "operation/words.hpp"

namespace jitterscope {

struct NamedValue {
  std::string name, value;
};

/// Returns bytes or a plain count, by the parameter's name.
Counted counted_by(std::string_view name);

/// A word that may be typed, and the word for the same value that is printed.
struct KnownWord {
  std::string_view text, printed;
};
/// Returns " (did you mean 'f16'?)" with the printed form of the nearest word, or else all printed words.
std::string word_hint(std::string_view text, const std::vector<KnownWord>& words);
template <class Value>
std::vector<KnownWord> known_words() {
  std::vector<KnownWord> words;
  for (const Word<Value>& word : words_of<Value>()) words.push_back({word.text, printed_word(word.value)});
  return words;
}

/// Reads parameters into fields; a field keeps its value if the parameter is absent. Throws UsageError if a
/// value cannot be read. Whether the value is possible is checked with the shape.
class ParameterReader {
 public:
  /// Throws UsageError for a parameter that is unknown or given twice.
  ParameterReader(std::string kind, std::string example, std::vector<NamedValue> values,
                  const std::vector<std::string>& known);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  void read(std::string_view name, std::int64_t& field) const;
  /// Also reads i64 and i32, so that the shape's check can say why it refuses them.
  void read(std::string_view name, DataType& field) const;
  void read(std::string_view name, std::string& field) const;
  /// Reads the parameter `engine`; `pytorch` gives the empty field.
  void read_engine(std::string& field) const;
  template <class Value>
  void read(std::string_view name, Value& field) const {
    read_word(name, field);
  }
  /// Reads `2` or `2x1`: height x width.
  void read_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const;

  /// Like read, but throws UsageError if the parameter is absent.
  void require(std::string_view name, std::int64_t& field) const;
  void require_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const;
  /// Reads one parameter for both (`hw`) or one for each (`h` and `w`).
  void require_both(std::string_view both, std::string_view first, std::int64_t& first_field,
                    std::string_view second, std::int64_t& second_field) const;

  [[noreturn]] void fail(const std::string& problem) const;
  [[noreturn]] void fail_missing(const std::string& what) const;

 private:
  const std::string* find(std::string_view name) const;
  template <class Value>
  void read_word(std::string_view name, Value& field) const;
  [[noreturn]] void fail_value(std::string_view name, std::string_view value,
                               const std::string& expected) const;

  std::string kind_, example_;
  std::vector<NamedValue> values_;
};

template <class Value>
void ParameterReader::read_word(std::string_view name, Value& field) const {
  const std::string* text = find(name);
  if (text == nullptr) return;
  for (const Word<Value>& word : words_of<Value>()) {
    if (word.text == *text) {
      field = word.value;
      return;
    }
  }
  fail_value(name, *text, "is not a known " + std::string(name) + word_hint(*text, known_words<Value>()));
}

class ParameterWriter {
 public:
  explicit ParameterWriter(std::string_view kind) : text_(kind) {}

  /// Writes the text that precedes all parameters.
  void write_subject(std::string_view subject);
  void write(std::string_view name, std::int64_t value);
  void write(std::string_view name, const std::string& value) { append(name, value); }
  template <class Value>
  void write(std::string_view name, Value value) {
    append(name, printed_word(value));
  }
  /// Omits the parameter if it has its default, to keep the line short.
  template <class Value>
  void write_unless(Value usual, std::string_view name, Value value) {
    if (value != usual) write(name, value);
  }
  /// Omits an empty field, which means PyTorch's choice.
  void write_engine(const std::string& engine) {
    if (!engine.empty()) append("engine", engine);
  }
  /// Writes `2` or `2x1`.
  void write_pair(std::string_view name, std::int64_t height, std::int64_t width);
  /// Omits the parameter if both sides have the default.
  void write_pair_unless(std::int64_t usual, std::string_view name, std::int64_t height, std::int64_t width);
  /// Writes `hw=56`, or `h=56,w=28`.
  void write_both(std::string_view both, std::string_view first, std::int64_t first_value,
                  std::string_view second, std::int64_t second_value);

  const std::string& text() const { return text_; }

 private:
  void append(std::string_view name, std::string_view value);

  std::string text_;
  bool empty_ = true;
};

}  // namespace jitterscope

// The functions that each kind of operation provides.

namespace jitterscope::kinds {

/// One word before the colon of an operation's text.
struct Kind {
  OperationHelp help;
  Operation::Parameters (*read)(const ParameterReader&);
};
/// Returns all kinds in the order in which they are listed.
const std::vector<Kind>& all();

Kind conv2d();
Kind matmul();
Kind linear();
Kind attention();
Kind batch_norm();
Kind layer_norm();
std::vector<Kind> pools();
std::vector<Kind> softmaxes();
Kind bias_add();
Kind convert();
Kind embedding();
std::vector<Kind> optimizer_steps();
Kind copy();
std::vector<Kind> elementwise();
Kind spin();
Kind aten();
Kind cuda_kernel();
Kind chain();
Kind allocation();

std::string_view name(const Conv2d&);
std::string_view name(const Matmul&);
std::string_view name(const Linear&);
std::string_view name(const Copy&);
std::string_view name(const Elementwise&);
std::string_view name(const Spin&);
std::string_view name(const Aten&);
std::string_view name(const CudaKernel&);
std::string_view name(const Allocation&);
std::string_view name(const BatchNorm&);
std::string_view name(const Pool2d&);
std::string_view name(const Softmax&);
std::string_view name(const LayerNorm&);
std::string_view name(const BiasAdd&);
std::string_view name(const Convert&);
std::string_view name(const Embedding&);
std::string_view name(const OptimizerStep&);
std::string_view name(const Attention&);
std::string_view name(const Chain&);

/// Throws UsageError if the shape is impossible. The operands' total size is checked separately.
void check(const Conv2d&);
void check(const Matmul&);
void check(const Linear&);
void check(const Copy&);
void check(const Elementwise&);
void check(const Spin&);
void check(const Aten&);
void check(const CudaKernel&);
void check(const Allocation&);

/// Brings equal operations to one form, so that they print equally.
void normalize(Aten&);
void normalize(CudaKernel&);
void normalize(Convert&);
void check(const BatchNorm&);
void check(const Pool2d&);
void check(const Softmax&);
void check(const LayerNorm&);
void check(const BiasAdd&);
void check(const Convert&);
void check(const Embedding&);
void check(const OptimizerStep&);
void check(const Attention&);
void check(const Chain&);

/// Writes the parameters in the order of the normal form.
void write(const Conv2d&, ParameterWriter&);
void write(const Matmul&, ParameterWriter&);
void write(const Linear&, ParameterWriter&);
void write(const Copy&, ParameterWriter&);
void write(const Elementwise&, ParameterWriter&);
void write(const Spin&, ParameterWriter&);
void write(const BatchNorm&, ParameterWriter&);
void write(const Pool2d&, ParameterWriter&);
void write(const Softmax&, ParameterWriter&);
void write(const LayerNorm&, ParameterWriter&);
void write(const BiasAdd&, ParameterWriter&);
void write(const Convert&, ParameterWriter&);
void write(const Embedding&, ParameterWriter&);
void write(const OptimizerStep&, ParameterWriter&);
void write(const Attention&, ParameterWriter&);
void write(const Chain&, ParameterWriter&);
void write(const Allocation&, ParameterWriter&);

double flops(const Conv2d&);
double flops(const Matmul&);
double flops(const Linear&);
double flops(const Copy&);
double flops(const Elementwise&);
double flops(const Spin&);
double flops(const Aten&);
double flops(const CudaKernel&);
double flops(const Allocation&);

Bytes bytes(const Aten&);
Bytes bytes(const Chain&);
double flops(const BatchNorm&);
double flops(const Pool2d&);
double flops(const Softmax&);
double flops(const LayerNorm&);
double flops(const BiasAdd&);
double flops(const Convert&);
double flops(const Embedding&);
double flops(const OptimizerStep&);
double flops(const Attention&);
double flops(const Chain&);

std::vector<Operand> operands(const Conv2d&);
std::vector<Operand> operands(const Matmul&);
std::vector<Operand> operands(const Linear&);
std::vector<Operand> operands(const Copy&);
std::vector<Operand> operands(const Elementwise&);
std::vector<Operand> operands(const Spin&);
std::vector<Operand> operands(const Aten&);
std::vector<Operand> operands(const CudaKernel&);
std::vector<Operand> operands(const Allocation&);
std::vector<Operand> operands(const BatchNorm&);
std::vector<Operand> operands(const Pool2d&);
std::vector<Operand> operands(const Softmax&);
std::vector<Operand> operands(const LayerNorm&);
std::vector<Operand> operands(const BiasAdd&);
std::vector<Operand> operands(const Convert&);
std::vector<Operand> operands(const Embedding&);
std::vector<Operand> operands(const OptimizerStep&);
std::vector<Operand> operands(const Attention&);
std::vector<Operand> operands(const Chain&);

}  // namespace jitterscope::kinds

// Limits of an operation's size, so that no later arithmetic on its shape can overflow.

namespace jitterscope {

/// Libraries take dimensions as 32-bit numbers.
inline constexpr std::int64_t kLargestDimension = (std::int64_t{1} << 31) - 1;
/// Largest value of the parameters bytes and count.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;
/// 64 TiB: beyond any device's memory.
inline constexpr std::int64_t kLargestOperandBytes = std::int64_t{1} << 46;

/// Throws UsageError "conv2d: n=0 is impossible: …" if value is outside of the range.
void check_range(std::string_view kind, std::string_view name, std::int64_t value, std::int64_t lowest,
                 std::int64_t highest);

/// Throws UsageError for pass=inference of a kind that computes the same as in forward.
void check_pass(std::string_view kind, Pass pass);

/// Throws UsageError for a data type that holds indices.
void check_computes_in(std::string_view kind, std::string_view name, DataType dtype);

/// Product of numbers that are not negative, limited to 2^50: too large for an operand, but it leaves room to
/// sum and to multiply by the element size.
std::int64_t limited_product(std::initializer_list<std::int64_t> factors);

/// Throws UsageError if the operands together exceed kLargestOperandBytes.
void check_operand_bytes(std::string_view kind, const std::vector<Operand>& operands);

}  // namespace jitterscope
