// Collects the calls of a record into a model: equal operations become one layer, tensors connect calls.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/operator_conversion.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// What the GPU did for one call; nothing in a record without times.
struct RecordedWork {
  std::optional<Nanoseconds> time = {};
  std::vector<std::string> kernels = {};
};

class ModelBuilder {
 public:
  void add_call(std::string name, std::string_view source, const ConvertedOperation& converted,
                const RecordedWork& work);
  void add_untimed(std::string_view name, std::string_view reason, std::optional<Nanoseconds> time);
  void add_note(std::string note);
  /// The tensor is other memory from here on.
  void forget(const TensorIdentity& tensor);
  /// The tensor holds from here on what no call wrote.
  void write_untimed(const TensorIdentity& tensor);

  /// Throws UsageError where nothing was added that can be timed.
  Model finish(std::string_view file_name, std::string format);

 private:
  /// The operand that first had a tensor's memory: wrote it, or read what no call wrote.
  struct Owner {
    std::size_t call = 0, operand = 0;
  };
  std::size_t layer_of(const ConvertedOperation& converted, std::string_view source,
                       const RecordedWork& work);
  void connect(Call& call, const ConvertedOperation& converted);

  Model model_;
  std::unordered_map<std::string, std::size_t> layers_;  ///< by the operation's text
  std::map<std::pair<std::string, std::string>, std::size_t, std::less<>> untimed_;  ///< by name and reason
  std::map<TensorIdentity, Owner> owners_;
  std::set<TensorIdentity> unwritten_;  ///< hold what no call wrote
};

}  // namespace jitterscope
