// An operator as PyTorch recorded it, whichever file it was read from.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// What tells a tensor from others over views of it: its storage, and where in that it begins.
struct TensorIdentity {
  std::int64_t storage = 0, offset = 0;
  auto operator<=>(const TensorIdentity&) const = default;
};

struct RecordedArgument {
  AtenArgument value;
  std::optional<TensorIdentity> identity = {};  ///< of a tensor, where the record tells tensors apart
  std::string device = {};                      ///< of a tensor: cuda:0, cpu; empty where unknown
  std::string problem = {};                     ///< why `value` is not what was passed; empty where it is
};

struct RecordedOperator {
  std::string name;                         ///< aten::add
  std::optional<std::string> overload;      ///< Tensor; nothing where the record does not say
  std::vector<std::string> argument_names;  ///< of the schema; may be fewer than arguments
  std::vector<RecordedArgument> arguments, outputs;
};

/// An operator that no native operation stands for. Says nothing to the user: the operator itself remains.
struct NotNative {};

/// An operator's arguments by the names of its schema. All throw NotNative where an argument is absent or of
/// another kind.
class Arguments {
 public:
  explicit Arguments(const RecordedOperator& recorded) : recorded_(recorded) {}

  const RecordedArgument* find(std::string_view name) const;
  bool has_tensor(std::string_view name) const;
  const AtenArgument& tensor(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  double number_or(std::string_view name, double absent) const;
  bool boolean(std::string_view name) const;
  bool boolean_or(std::string_view name, bool absent) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  /// One number for each of two sides, or one for both.
  std::pair<std::int64_t, std::int64_t> pair(std::string_view name) const;
  std::vector<bool> booleans(std::string_view name) const;
  std::optional<TensorIdentity> identity(std::string_view name) const;
  std::optional<TensorIdentity> output_identity(std::size_t index) const;

 private:
  const AtenArgument& value(std::string_view name, AtenArgument::Kind kind) const;
  const RecordedOperator& recorded_;
};

inline void require_native(bool condition) {
  if (!condition) throw NotNative();
}

// Names of an operator's arguments and its overload: from the schema where a record has it, else known here.

struct OperatorSchema {
  std::string overload;
  std::vector<std::string> argument_names;
  std::vector<bool> has_default;  ///< as many
};

/// Reads `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`. Of any other text, what
/// can be read.
OperatorSchema parse_schema(std::string_view text);

/// Of the operators that are converted natively; empty for others.
std::vector<std::string> known_argument_names(std::string_view name);

/// Which overload takes arguments of these kinds. Empty where the operator has no overloads, as far as known.
std::string known_overload(const RecordedOperator& recorded);

}  // namespace jitterscope
