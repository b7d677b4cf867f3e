#include "operation/model.hpp"

#include <algorithm>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchemaHint = "docs/model.schema.json describes the file";

// One value of the file and its JSON pointer, so that each problem names its field.
class Field {
 public:
  Field(const Json& value, std::string file, std::string pointer)
      : value_(value), file_(std::move(file)), pointer_(std::move(pointer)) {}

  [[noreturn]] void fail(const std::string& expected) const {
    throw UsageError(fmt::format("{}: {}: {}", file_, pointer_.empty() ? "/" : pointer_, expected));
  }

  Field member(const std::string& name) const {
    const auto found = value_.find(name);
    if (found == value_.end()) fail(fmt::format("the field '{}' is missing; {}", name, kSchemaHint));
    return Field(*found, file_, pointer_ + "/" + name);
  }

  void expect_object_of(const std::vector<std::string>& known) const {
    if (!value_.is_object()) fail(expected("an object"));
    for (const auto& [name, unused] : value_.items()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      fail(fmt::format("no field {} is known here{}; {}", in_quotes(name), suggestion(name, known),
                       kSchemaHint));
    }
  }

  std::string text() const {
    if (!value_.is_string()) fail(expected("a string"));
    return value_.get<std::string>();
  }

  std::string text_not_empty() const {
    std::string result = text();
    if (result.empty()) fail("a string that is not empty was expected");
    return result;
  }

  std::vector<Field> elements() const {
    if (!value_.is_array()) fail(expected("an array"));
    if (value_.empty()) fail("an array with at least one element was expected");
    std::vector<Field> result;
    for (std::size_t i = 0; i < value_.size(); ++i) {
      result.emplace_back(value_[i], file_, pointer_ + "/" + std::to_string(i));
    }
    return result;
  }

  const Json& value() const { return value_; }

 private:
  std::string expected(const std::string& what) const {
    return fmt::format("{} was expected, this is {}; {}", what, value_.type_name(), kSchemaHint);
  }

  const Json& value_;
  std::string file_, pointer_;
};

// Returns the library's sentence without its number and place. Tokens that it quotes may be long or binary.
std::string reason_of(const Json::exception& error) {
  constexpr std::size_t kLongestReason = 200;
  const std::string_view message = error.what();
  for (const std::string_view prefix : {": syntax error ", "] "}) {
    const std::size_t found = message.find(prefix);
    if (found != std::string_view::npos) return printable(message.substr(found + 2), kLongestReason);
  }
  return printable(message, kLongestReason);
}

Json parse_json(std::string_view text, const std::string& file) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // `byte` counts from 1 and is that of the offending character, which may be a line's end.
    const std::size_t before = std::min(std::max<std::size_t>(error.byte, 1) - 1, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(before), '\n');
    throw UsageError(fmt::format("{}: line {}: not valid JSON: {}", file, line, reason_of(error)));
  } catch (const Json::exception& error) {
    // A number above the largest double: the library reports it without its place.
    throw UsageError(fmt::format("{}: not a model: {}", file, reason_of(error)));
  }
}

void check_header(const Field& root) {
  const Field format = root.member("format"), version = root.member("version");
  if (format.value() != "jitterscope-model") format.fail("\"jitterscope-model\" was expected");
  if (version.value() != 1) version.fail("1 was expected: this program reads version 1 of the format");
}

Layer read_layer(const Field& field) {
  field.expect_object_of({"operation", "names"});
  std::vector<std::string> names;
  for (const Field& name : field.member("names").elements()) names.push_back(name.text_not_empty());
  const Field operation = field.member("operation");
  const std::string text = operation.text();
  try {
    return {std::move(names), Operation::parse(text)};
  } catch (const UsageError& error) {
    operation.fail(error.what());
  }
}

void add_layer(Model& model, Layer layer) {
  const auto equal = [&](const Layer& other) { return other.operation == layer.operation; };
  const auto known = std::find_if(model.layers.begin(), model.layers.end(), equal);
  if (known == model.layers.end()) {
    model.layers.push_back(std::move(layer));
  } else {
    known->names.insert(known->names.end(), layer.names.begin(), layer.names.end());
  }
}

}  // namespace

Model read_model(std::string_view json_text, std::string_view file_name) {
  const Json json = parse_json(json_text, std::string(file_name));
  const Field root(json, std::string(file_name), "");
  root.expect_object_of({"$schema", "format", "version", "name", "description", "layers"});
  if (json.contains("$schema")) root.member("$schema").text();  // for editors
  check_header(root);
  Model model;
  model.name = root.member("name").text_not_empty();
  model.description = root.member("description").text();
  for (const Field& layer : root.member("layers").elements()) add_layer(model, read_layer(layer));
  return model;
}

Model load_model(const std::filesystem::path& file) {
  // ResNet-50 takes 15 KB. A larger file than this is not a model, and would fill the memory.
  constexpr std::uintmax_t kLargestFile = 16u << 20;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error)
    throw UsageError(fmt::format("{}: the model cannot be read: {}", file.string(), error.message()));
  if (size > kLargestFile) throw UsageError(file.string() + ": too large for a model (over 16 MiB)");
  const auto [text, problem] = file_text(file);
  if (problem) throw UsageError(file.string() + ": the model cannot be read; check its permissions");
  return read_model(text, file.string());
}

namespace {

constexpr std::int64_t kLargestBatch = 1 << 20;
constexpr std::string_view kTraining = "training";

template <class Value>
Value known_word(std::string_view target, std::string_view name, std::string_view text) {
  for (const Word<Value>& word : kWords<Value>) {
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

namespace {

struct OptionValues {
  std::string of_option, others;  ///< "32,64", and what else was typed: "dtype=f16"
};

// Sorts the pieces of a text between commas by whether they belong to an option: batch=32,64,dtype=f16.
OptionValues values_of(std::string_view text, std::string_view option) {
  OptionValues values;
  std::string* into = &values.others;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view piece = trimmed(text.substr(0, comma));
    const std::size_t equals = piece.find('=');
    if (equals != std::string_view::npos) {
      const bool is_option = trimmed(piece.substr(0, equals)) == option;
      into = is_option ? &values.of_option : &values.others;
      if (is_option) piece = trimmed(piece.substr(equals + 1));
    }
    *into += (into->empty() ? "" : ",") + std::string(piece);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

ModelOptions parse_model_options(std::string_view text, std::string_view target) {
  const std::string_view whole = text;
  ModelOptions options;
  std::string_view last;  // the previous name
  while (!trimmed(text).empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view piece = trimmed(text.substr(0, comma));
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos && !last.empty() && !piece.empty()) {
      const OptionValues values = values_of(whole, last);
      throw UsageError(fmt::format(
          "{0}: {1} follows {2} as a second value, and a model takes one; compare both with jitterscope "
          "compare {0}{3} --vary {2}={4}",
          target, in_quotes(piece), last, values.others.empty() ? "" : ':' + printable(values.others, 200),
          printable(values.of_option, 60)));
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

namespace {

const DataFiles& model_files() {
  static const DataFiles files{"models", "JITTERSCOPE_MODELS", ".json"};
  return files;
}

}  // namespace

std::vector<std::string> model_names() { return model_files().names(); }
std::optional<std::filesystem::path> find_model(std::string_view name) { return model_files().find(name); }

}  // namespace jitterscope
