// An operator as PyTorch recorded it, independent of the kind of file.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Identifies a tensor across views of it: its storage, and the offset in it at which the tensor begins.
struct TensorIdentity {
  std::int64_t storage = 0, offset = 0;
  auto operator<=>(const TensorIdentity&) const = default;
};

struct RecordedArgument {
  AtenArgument value;
  std::optional<TensorIdentity> identity = {};  ///< for a tensor, if the record tells tensors apart
  std::string device = {};                      ///< for a tensor: cuda:0, cpu; empty if unknown
  std::string problem = {};                     ///< why `value` is not the passed one; empty if it is
  std::string remedy = {};                      ///< what would tell it, if anything: UntimedOperator::remedy
};

/// The record lacks an argument, and another kind of record would have it.
struct IncompleteRecord : UsageError {
  explicit IncompleteRecord(const RecordedArgument& argument)
      : UsageError(argument.problem), remedy(argument.remedy) {}
  std::string remedy;
};

struct RecordedOperator {
  std::string name;                         ///< aten::add
  std::optional<std::string> overload;      ///< Tensor; nullopt if the record does not say
  std::vector<std::string> argument_names;  ///< from the schema; may be fewer than arguments
  std::vector<RecordedArgument> arguments, outputs;
};

/// Thrown if no native operation does an operator's work. The user is not told: the operator itself is timed.
struct NotNative {};

/// A tensor of an operator: an argument by its name, or an output by its index.
struct TensorPlace {
  TensorPlace(const char* argument) : name(argument) {}  // NOLINT(google-explicit-constructor): a name is
  TensorPlace(std::string_view argument) : name(argument) {}  // NOLINT(google-explicit-constructor): a place,
  TensorPlace(int index) : output(index) {}  // NOLINT(google-explicit-constructor): an index, too

  std::string_view name = {};
  int output = -1;  ///< -1: an argument
};

/// Gives an operator's arguments by the names of its schema. Most functions throw NotNative if an argument is
/// absent or of another kind.
class Arguments {
 public:
  explicit Arguments(const RecordedOperator& recorded) : recorded_(recorded) {}

  const RecordedOperator& recorded() const { return recorded_; }
  const RecordedArgument* find(std::string_view name) const;
  bool has_tensor(std::string_view name) const;
  const AtenArgument& tensor(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  double number_or(std::string_view name, double absent) const;
  bool boolean(std::string_view name) const;
  bool boolean_or(std::string_view name, bool absent) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  /// Returns a list of two numbers, or of one number that counts for both.
  std::pair<std::int64_t, std::int64_t> pair(std::string_view name) const;
  std::vector<bool> booleans(std::string_view name) const;
  /// Returns nullopt if the operator has no such tensor, or the record does not tell tensors apart.
  std::optional<TensorIdentity> identity(const TensorPlace& place) const;

 private:
  const AtenArgument& value(std::string_view name, AtenArgument::Kind kind) const;
  const RecordedOperator& recorded_;
};

inline void require_native(bool condition) {
  if (!condition) throw NotNative();
}

// Names of an operator's arguments and its overload, from the record's schema or else from a table.

struct OperatorSchema {
  std::string overload;
  std::vector<std::string> argument_names;
  std::vector<bool> has_default;  ///< one for each name
};

/// Reads `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`. If the text is another,
/// reads as much of it as possible.
OperatorSchema parse_schema(std::string_view text);

/// Splits `Int,GenericList[Int,Int]` at its outer commas; an empty text has no pieces.
std::vector<std::string_view> split_outside_brackets(std::string_view text);

/// Returns the overload that takes arguments of these kinds. Empty if the operator has no known overloads.
std::string known_overload(const RecordedOperator& recorded);

}  // namespace jitterscope
