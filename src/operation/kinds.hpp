// Everything that a kind of operation provides: its parameters, operands and FLOPs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "operation/words.hpp"

// Limits of an operation's size, so that no later arithmetic on its shape can overflow.

namespace jitterscope {

/// Libraries take dimensions as 32-bit numbers.
inline constexpr std::int64_t kLargestDimension = (std::int64_t{1} << 31) - 1;
/// Largest value of the parameters bytes and count.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 40;
/// 64 TiB: beyond any device's memory.
inline constexpr std::int64_t kLargestOperandBytes = std::int64_t{1} << 46;

/// The least and the largest value of a number.
struct Bounds {
  std::int64_t lowest = 1, highest = kLargestDimension;
};

/// Throws UsageError "conv2d: n=0 is impossible: …" if value is outside of the bounds.
void check_range(std::string_view kind, std::string_view name, std::int64_t value, const Bounds& bounds);

/// Product of sizes, limited to 2^50: too large for an operand, but it leaves room to sum and to multiply by
/// the element size. Negative sizes count as 0.
std::int64_t limited_product(std::initializer_list<std::int64_t> sizes);
std::int64_t limited_product(std::span<const std::int64_t> sizes);
/// Product of numbers of any size, for FLOPs.
double real_product(std::initializer_list<std::int64_t> factors);

/// Throws UsageError if the operands together exceed kLargestOperandBytes.
void check_operand_bytes(std::string_view kind, const std::vector<Operand>& operands);

}  // namespace jitterscope

// Parameters as text.

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
  for (const Word<Value>& word : kWords<Value>) words.push_back({word.text, printed_word(word.value)});
  return words;
}

/// Returns the words that are printed, one for each value.
template <class Value>
std::vector<std::string> printed_words() {
  std::vector<std::string> words;
  for (const KnownWord& known : known_words<Value>()) {
    if (known.text == known.printed) words.emplace_back(known.printed);
  }
  return words;
}

/// Reads parameters into fields; a field keeps its value if the parameter is absent. Throws UsageError if a
/// value cannot be read.
class ParameterReader {
 public:
  /// Throws UsageError for a parameter that is unknown or given twice.
  ParameterReader(std::string kind, std::string example, std::vector<NamedValue> values,
                  const std::vector<std::string>& known);

  const std::string& kind() const { return kind_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Returns null if the parameter is absent.
  const std::string* find(std::string_view name) const;

  void read(std::string_view name, std::int64_t& field) const;
  /// Also reads i64 and i32, so that the check can say why it refuses them.
  void read(std::string_view name, DataType& field) const;
  void read(std::string_view name, std::string& field) const;
  template <class Value>
  void read(std::string_view name, Value& field) const {
    read_word(name, field);
  }
  /// Reads `2` or `2x1`: height x width.
  void read_pair(std::string_view name, std::int64_t& height, std::int64_t& width) const;
  /// Reads one parameter for both (`hw`) or one for each (`h` and `w`). Throws UsageError if they are absent.
  void require_both(std::string_view both, std::string_view first, std::int64_t& first_field,
                    std::string_view second, std::int64_t& second_field) const;

  [[noreturn]] void fail(const std::string& problem) const;
  [[noreturn]] void fail_missing(std::string_view what) const;
  [[noreturn]] void fail_value(std::string_view name, const std::string& expected) const;

 private:
  template <class Value>
  void read_word(std::string_view name, Value& field) const;

  std::string kind_, example_;
  std::vector<NamedValue> values_;
};

template <class Value>
void ParameterReader::read_word(std::string_view name, Value& field) const {
  const std::string* text = find(name);
  if (text == nullptr) return;
  for (const Word<Value>& word : kWords<Value>) {
    if (word.text == *text) {
      field = word.value;
      return;
    }
  }
  fail_value(name, "is not a known " + std::string(name) + word_hint(*text, known_words<Value>()));
}

class ParameterWriter {
 public:
  explicit ParameterWriter(std::string_view kind) : text_(kind) {}

  /// Writes the text that precedes all parameters.
  void write_subject(std::string_view subject);
  void write(std::string_view name, std::string_view value);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool empty_ = true;
};

}  // namespace jitterscope

// The description of each kind: one function with a line for each parameter.

namespace jitterscope::kinds {

/// A default, and how the help names it if it is not the value itself.
template <class Value>
struct Usual {
  Usual(Value usual, std::string_view word = {})  // NOLINT(google-explicit-constructor): a value is a default
      : value(usual), name(word) {}

  Value value;
  std::string_view name;
};

/// A height and a width.
struct Sides {
  std::int64_t height = 1, width = 1;
  bool operator==(const Sides&) const = default;
};

/// Parameters as users see them.
struct Listing {
  std::vector<ParameterHelp> parameters;
  std::vector<std::vector<std::string>> words;  ///< those that each parameter takes; empty: it takes none
};

/// Visits a kind's parameters in the order of the normal form. The same description lists them for the help,
/// reads them, writes them, or checks them: the constructors choose.
class Fields {
 public:
  /// Lists them.
  explicit Fields(Listing& listing) : listing_(&listing) {}
  /// Reads them, and checks the numbers that are given.
  explicit Fields(const ParameterReader& reader) : kind_(reader.kind()), reader_(&reader) {}
  /// Writes them; without those that have their defaults, to keep the line short.
  explicit Fields(ParameterWriter& writer) : writer_(&writer) {}
  /// Checks their bounds, and that no operation computes in indices. Throws UsageError.
  explicit Fields(std::string_view kind) : kind_(kind) {}

  /// Returns null if the parameters are not being read.
  const ParameterReader* reader() const { return reader_; }
  /// True if a parameter that an operation may lack is to be described: the help lists it anyway.
  bool lists(bool is_there) const { return is_there || listing_ != nullptr; }

  /// `in_place_of` names the parameter that may be given instead.
  void required(std::string_view name, std::string_view meaning, std::int64_t& value,
                const Bounds& bounds = {}, std::string_view in_place_of = {});
  void optional(std::string_view name, std::string_view meaning, std::int64_t& value,
                const Usual<std::int64_t>& usual, const Bounds& bounds = {});
  void required_pair(std::string_view name, std::string_view meaning, std::int64_t& height,
                     std::int64_t& width);
  void optional_pair(std::string_view name, std::string_view meaning, std::int64_t& height,
                     std::int64_t& width, const Usual<Sides>& usual, const Bounds& bounds = {});
  /// Two numbers with one name for both: `hw`, or `h` and `w`. `what` has the sides: "input ".
  void both(std::string_view what, std::string_view first, std::int64_t& height, std::string_view second,
            std::int64_t& width);
  /// The sizes n, c, h and w of images.
  template <class Shape>
  void images(Shape& shape, std::string_view what = "") {
    required("n", "batch size", shape.n);
    required("c", "channels", shape.c);
    both(what, "h", shape.h, "w", shape.w);
  }
  /// One of the words of an enumeration.
  template <class Value>
  void optional(std::string_view name, std::string_view meaning, Value& value,
                const std::type_identity_t<Usual<Value>>& usual) {
    word(name, meaning, value, usual, false);
  }
  /// The same, written also if it is the default.
  template <class Value>
  void shown(std::string_view name, std::string_view meaning, Value& value,
             const std::type_identity_t<Usual<Value>>& usual) {
    word(name, meaning, value, usual, true);
  }
  /// Forward or backward, in a kind that computes the same in inference as in forward.
  void pass(std::string_view meaning, Pass& value);
  /// A text; empty if it is not given. `usual` is the word for that.
  void text(std::string_view name, std::string_view meaning, std::string& value, std::string_view usual = {});
  void engine(std::string_view meaning, std::string& value);
  /// A parameter that the kind reads, writes and checks itself.
  void declared(std::string_view name, std::string_view meaning);

 private:
  void list(std::string_view name, std::string_view meaning, std::string_view usual,
            std::vector<std::string> words = {});
  /// False also for the word that the help has for the default.
  bool is_given(std::string_view name, std::string_view usual_name) const;
  template <class Value>
  void word(std::string_view name, std::string_view meaning, Value& value, const Usual<Value>& usual,
            bool is_always_written);
  void check_computes_in(std::string_view name, DataType dtype) const;

  std::string_view kind_;
  Listing* listing_ = nullptr;
  const ParameterReader* reader_ = nullptr;
  ParameterWriter* writer_ = nullptr;
};

template <class Value>
void Fields::word(std::string_view name, std::string_view meaning, Value& value, const Usual<Value>& usual,
                  bool is_always_written) {
  if (listing_ != nullptr) {
    return list(name, meaning, usual.name.empty() ? printed_word(usual.value) : usual.name,
                printed_words<Value>());
  }
  if (writer_ != nullptr) {
    if (is_always_written || value != usual.value) writer_->write(name, printed_word(value));
    return;
  }
  if (reader_ != nullptr) {
    value = usual.value;
    if (is_given(name, usual.name)) reader_->read(name, value);
  }
  if constexpr (std::is_same_v<Value, DataType>) check_computes_in(name, value);
}

// Meanings that several kinds share.
inline constexpr std::string_view kTypes = "f64, f32, tf32 (as f32), f16 or bf16";
inline constexpr std::string_view kTypesOfProducts =
    "f64, f32, tf32 (f32 with products in TF32), f16 or bf16";
inline constexpr std::string_view kTypesBesideStatistics =
    "f64, f32, tf32 (as f32), f16 or bf16; statistics of the last two are f32";
inline constexpr std::string_view kLayouts = "nchw or nhwc (PyTorch: channels_last)";

/// A word before the colon of an operation's text.
template <class Shape>
struct Named {
  std::string word, summary, example;
  Shape initial = {};  ///< before its parameters are read
};

/// The functions of one type of operations. Some may be null, as said.
template <class Shape>
struct KindOf {
  std::vector<Named<Shape>> words;
  /// Returns the index of a shape's word; null: there is one word.
  std::size_t (*place)(const Shape&) = nullptr;
  void (*describe)(Shape&, Fields&) = nullptr;
  /// Brings equal operations to one form, so that they print equally; null: they have one form.
  void (*normalize)(Shape&) = nullptr;
  /// Throws UsageError if the shape is impossible within its bounds; null: none is. The operands' total size
  /// is checked separately.
  void (*check)(const Shape&) = nullptr;
  /// Returns the normal form; null: the word and the parameters.
  std::string (*text)(const Shape&) = nullptr;
  double (*flops)(const Shape&) = nullptr;                   ///< null: none
  std::vector<Operand> (*operands)(const Shape&) = nullptr;  ///< null: none
};

const KindOf<Conv2d>& kind_of(const Conv2d&);
const KindOf<Matmul>& kind_of(const Matmul&);
const KindOf<Linear>& kind_of(const Linear&);
const KindOf<Copy>& kind_of(const Copy&);
const KindOf<Elementwise>& kind_of(const Elementwise&);
const KindOf<Spin>& kind_of(const Spin&);
const KindOf<BatchNorm>& kind_of(const BatchNorm&);
const KindOf<Pool2d>& kind_of(const Pool2d&);
const KindOf<Softmax>& kind_of(const Softmax&);
const KindOf<LayerNorm>& kind_of(const LayerNorm&);
const KindOf<BiasAdd>& kind_of(const BiasAdd&);
const KindOf<Embedding>& kind_of(const Embedding&);
const KindOf<OptimizerStep>& kind_of(const OptimizerStep&);
const KindOf<Attention>& kind_of(const Attention&);
const KindOf<Aten>& kind_of(const Aten&);
const KindOf<CudaKernel>& kind_of(const CudaKernel&);
const KindOf<Chain>& kind_of(const Chain&);
const KindOf<Allocation>& kind_of(const Allocation&);
const KindOf<Convert>& kind_of(const Convert&);
const KindOf<Collective>& kind_of(const Collective&);

template <class Shape>
std::string_view name(const Shape& shape) {
  const KindOf<Shape>& kind = kind_of(shape);
  return kind.words[kind.place == nullptr ? 0 : kind.place(shape)].word;
}
template <class Shape>
std::vector<Operand> operands(const Shape& shape) {
  const KindOf<Shape>& kind = kind_of(shape);
  return kind.operands == nullptr ? std::vector<Operand>() : kind.operands(shape);
}

/// Returns bytes that move at least; other kinds sum those of their operands.
Bytes bytes(const Aten&);
Bytes bytes(const Chain&);

/// A kind as users see it, and an operation of it before its parameters are read.
struct Kind {
  OperationHelp help;
  std::vector<std::vector<std::string>> words;  ///< as in Listing, of the help's parameters
  Operation::Parameters initial;
};
/// Returns all kinds in the order in which they are listed.
const std::vector<Kind>& all();

}  // namespace jitterscope::kinds
