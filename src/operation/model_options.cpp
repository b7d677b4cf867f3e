#include "operation/model_options.hpp"

#include <fmt/format.h>

#include <type_traits>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/parameter_reader.hpp"

namespace jitterscope {
namespace {

constexpr std::int64_t kLargestBatch = 1 << 20;
constexpr std::string_view kTraining = "training";

template <class Value>
Value known_word(std::string_view target, std::string_view name, std::string_view text) {
  for (const Word<Value>& word : words_of<Value>()) {
    if (word.text == text) return word.value;
  }
  std::vector<KnownWord> words = known_words<Value>();
  if (std::is_same_v<Value, Direction>) words.push_back({kTraining, kTraining});
  throw UsageError(
      fmt::format("{}: {}={} is not known{}", target, name, in_quotes(text), word_hint(text, words)));
}

std::int64_t size_of(std::string_view target, std::string_view name, std::string_view text) {
  const std::optional<std::int64_t> number = read_count(text);
  if (number && *number >= 1 && *number <= kLargestBatch) return *number;
  const std::vector<std::string> words = {"dtype", "layout", "direction"};
  if (const std::string nearest = nearest_name(name, words); !number && !nearest.empty()) {
    throw UsageError(fmt::format("{}: no option {} (did you mean '{}'?)", target, in_quotes(name), nearest));
  }
  throw UsageError(fmt::format("{}: {}={} is not a number from 1 to {}; lists and ranges are for operations",
                               target, name, in_quotes(text), kLargestBatch));
}

void read_option(ModelOptions& options, std::string_view target, std::string_view name,
                 std::string_view value) {
  if (name == "batch") {
    options.batch = size_of(target, name, value);
  } else if (name == "dtype") {
    options.dtype = known_word<DataType>(target, name, value);
  } else if (name == "layout") {
    options.layout = known_word<Layout>(target, name, value);
  } else if (name == "direction") {
    options.training_asked = value == kTraining;
    if (!options.training_asked) options.direction = known_word<Direction>(target, name, value);
  } else {
    options.axes[std::string(name)] = size_of(target, name, value);
  }
}

}  // namespace

ModelOptions parse_model_options(std::string_view text, std::string_view target) {
  ModelOptions options;
  std::string_view last;  // the name before
  while (!trimmed(text).empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = trimmed(text.substr(0, comma));
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos && !last.empty() && !piece.empty()) {
      throw UsageError(
          fmt::format("{0}: {1} follows {2} as a second value, and a model takes one; name the model once "
                      "for each, as in "
                      "{0}:{2}=… {0}:{2}={3}",
                      target, in_quotes(piece), last, printable(piece, 60)));
    }
    if (equals == std::string_view::npos || equals == 0) {
      throw UsageError(fmt::format("{}: {} is not name=value, as batch=64,dtype=f16,direction=fprop", target,
                                   in_quotes(piece)));
    }
    last = trimmed(piece.substr(0, equals));
    read_option(options, target, last, trimmed(piece.substr(equals + 1)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return options;
}

}  // namespace jitterscope
