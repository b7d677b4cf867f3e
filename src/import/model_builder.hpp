// Collects recorded calls into a model: equal operations become one layer, tensors connect calls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/operator_conversion.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// The GPU's work for one call; empty if the record has no times.
struct RecordedWork {
  std::optional<Nanoseconds> time = {};
  std::vector<std::string> kernels = {};
};

/// Collects layers and untimed operators. Equal operations are one layer.
class LayerCollector {
 public:
  void add_untimed(std::string_view name, std::string_view reason,
                   std::optional<Nanoseconds> time = std::nullopt, std::string_view remedy = {});

 protected:
  /// Returns the index of the operation's layer, which may be new.
  std::size_t layer_of(const Operation& operation, std::string_view source);
  /// Adds the time of one of a layer's calls. A layer with a call whose time is unknown has none: those of
  /// some calls would be mistaken for those of all.
  void add_call_time(std::size_t layer, std::optional<Nanoseconds> time);

  Model model_;

 private:
  std::vector<bool> all_timed_;                                         ///< for each layer
  std::unordered_map<std::string, std::size_t> layers_;                 ///< by the text of the operation
  std::map<std::pair<std::string, std::string>, std::size_t> untimed_;  ///< by name and reason
};

class ModelBuilder : public LayerCollector {
 public:
  void add_call(std::string name, std::string_view source, const ConvertedOperation& converted,
                const RecordedWork& work);
  void add_note(std::string note);
  /// Forgets the tensor: from here on its identity means other memory.
  void forget(const TensorIdentity& tensor);
  /// Marks the tensor as written by an operator that is not timed.
  void write_untimed(const TensorIdentity& tensor);

  /// Throws UsageError if no call that can be timed was added.
  Model finish(std::string_view file_name, std::string format);

 private:
  /// The first operand that had a tensor's memory, or a larger one that was written there later.
  struct Owner {
    std::size_t call = 0, operand = 0;
    Bytes size;
  };
  void connect(Call& call, const ConvertedOperation& converted);

  std::map<TensorIdentity, Owner> owners_;
  std::set<TensorIdentity> unwritten_;  ///< last written by an operator that is not timed
};

}  // namespace jitterscope

// Collects the calls of a library's log into a model.

namespace jitterscope::library_log {

class LogModel : public LayerCollector {
 public:
  /// `kind` is the library, "cudnn-frontend". `how_to_record` names the environment variables for such a log.
  LogModel(std::string_view kind, std::string_view file_name, std::string_view how_to_record);

  /// Adds one execution; equal operations share a layer. The reference is valid until the next call.
  Layer& add_call(const Operation& operation, std::string_view source, std::int64_t line,
                  std::optional<Nanoseconds> time = std::nullopt);
  /// `what` completes "the first, on line 12, …".
  void add_damaged(std::int64_t line, std::string_view what);
  void note(std::string sentence) { model_.notes.push_back(std::move(sentence)); }
  /// Notes that the log has a record of this process; empty if the log does not say.
  void in_process(std::string_view process) {
    if (!process.empty()) processes_.emplace(process);
  }
  void set_device(std::string_view name) { model_.recorded_device = name; }
  void set_cudnn(std::string_view version) { model_.recorded_cudnn = version; }

  /// Throws UsageError if no layer was added; `missing` completes "log.txt holds …".
  Model finish(std::string_view missing) &&;

 private:
  std::string nothing_found(std::string_view missing) const;

  std::string file_name_, how_to_record_;
  std::set<std::string, std::less<>> processes_;
  std::int64_t damaged_ = 0;
  std::string first_damage_;
};

}  // namespace jitterscope::library_log
