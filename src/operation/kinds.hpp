// Reads the values of one operation's parameters into its fields.
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

/// Whether a parameter is a number of bytes, by its name.
Counted counted_by(std::string_view name);

/// A word that may be typed, and the one of the same value that is printed.
struct KnownWord {
  std::string_view text, printed;
};
/// " (did you mean 'f16'?)": the printed word of the nearest one, or all printed words.
std::string word_hint(std::string_view text, const std::vector<KnownWord>& words);
template <class Value>
std::vector<KnownWord> known_words() {
  std::vector<KnownWord> words;
  for (const Word<Value>& word : words_of<Value>()) words.push_back({word.text, printed_word(word.value)});
  return words;
}

/// A field whose parameter is absent keeps the value it has. Throws UsageError where a value cannot be
/// read; whether it is possible is checked by the shape.
class ParameterReader {
 public:
  /// Throws UsageError for a parameter that is not known or given twice.
  ParameterReader(std::string kind, std::string example, std::vector<NamedValue> values,
                  const std::vector<std::string>& known);

  bool has(std::string_view name) const { return find(name) != nullptr; }

  void read(std::string_view name, std::int64_t& field) const;
  /// i64 and i32 are read too, so that the shape can say why it is refused.
  void read(std::string_view name, DataType& field) const;
  void read(std::string_view name, std::string& field) const;
  /// Of the parameter `engine`: `pytorch` is the empty field.
  void read_engine(std::string& field) const;
  template <class Value>
  void read(std::string_view name, Value& field) const {
    read_word(name, field);
  }
  /// `2`, or `2x1`: height x width.
  void read_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const;

  /// As read, but throws UsageError where the parameter is absent.
  void require(std::string_view name, std::int64_t& field) const;
  void require_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const;
  /// One parameter for both (`hw`), or one each (`h` and `w`).
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

// Writes the normal form of an operation's text.

class ParameterWriter {
 public:
  explicit ParameterWriter(std::string_view kind) : text_(kind) {}

  /// What stands before all parameters.
  void write_subject(std::string_view subject);
  void write(std::string_view name, std::int64_t value);
  void write(std::string_view name, const std::string& value) { append(name, value); }
  template <class Value>
  void write(std::string_view name, Value value) {
    append(name, printed_word(value));
  }
  /// Leaves the parameter out where it has its default, to keep the line short.
  template <class Value>
  void write_unless(Value usual, std::string_view name, Value value) {
    if (value != usual) write(name, value);
  }
  /// Left out where the field is empty: as PyTorch chooses.
  void write_engine(const std::string& engine) {
    if (!engine.empty()) append("engine", engine);
  }
  /// `2` or `2x1`.
  void write_pair(std::string_view name, std::int64_t height, std::int64_t width);
  /// Left out where both sides have the default.
  void write_pair_unless(std::int64_t usual, std::string_view name, std::int64_t height, std::int64_t width);
  /// `hw=56`, or `h=56,w=28`.
  void write_both(std::string_view both, std::string_view first, std::int64_t first_value,
                  std::string_view second, std::int64_t second_value);

  const std::string& text() const { return text_; }

 private:
  void append(std::string_view name, std::string_view value);

  std::string text_;
  bool empty_ = true;
};

}  // namespace jitterscope

// What each kind of operation brings: how its parameters are read, checked and printed, what it computes
// with.

namespace jitterscope::kinds {

/// One word before the colon.
struct Kind {
  OperationHelp help;
  Operation::Parameters (*read)(const ParameterReader&);
};
/// All, in the order in which they are listed.
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

/// Throws UsageError where the shape is impossible. The total of the operands is checked apart.
void check(const Conv2d&);
void check(const Matmul&);
void check(const Linear&);
void check(const Copy&);
void check(const Elementwise&);
void check(const Spin&);
void check(const Aten&);
void check(const CudaKernel&);
void check(const Allocation&);

/// One of all that are equal, so that equal operations print equally.
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

/// In the order of the normal form.
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

// How large an operation may be, so that no later arithmetic on its shape can overflow.

namespace jitterscope {

/// Libraries take dimensions as 32-bit numbers.
inline constexpr std::int64_t kLargestDimension = (std::int64_t{1} << 31) - 1;
/// Of bytes and count.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;
/// 64 TiB: beyond any device's memory.
inline constexpr std::int64_t kLargestOperandBytes = std::int64_t{1} << 46;

/// Throws UsageError "conv2d: n=0 is impossible: …" where value is outside.
void check_range(std::string_view kind, std::string_view name, std::int64_t value, std::int64_t lowest,
                 std::int64_t highest);

/// Throws UsageError for pass=inference of a kind that computes then what it does in forward.
void check_pass(std::string_view kind, Pass pass);

/// Throws UsageError for a data type that holds indices.
void check_computes_in(std::string_view kind, std::string_view name, DataType dtype);

/// The product of numbers that are not negative; past 2^50 it stays there, which is too large for an
/// operand and leaves room to sum and to multiply by the element size.
std::int64_t limited_product(std::initializer_list<std::int64_t> factors);

/// Throws UsageError where the operands together pass kLargestOperandBytes.
void check_operand_bytes(std::string_view kind, const std::vector<Operand>& operands);

}  // namespace jitterscope
