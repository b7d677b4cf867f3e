#include "operation/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file_text.hpp"
#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchemaHint = "docs/model.schema.json describes the file";

// One value of the file, with where it stands, so that each problem names its field.
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

// The library's sentence without its number and place; the tokens that it quotes may be long or binary.
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
    // `byte` counts from one and is that of the offending character, which may be a line's end.
    const std::size_t before = std::min(std::max<std::size_t>(error.byte, 1) - 1, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(before), '\n');
    throw UsageError(fmt::format("{}: line {}: not valid JSON: {}", file, line, reason_of(error)));
  } catch (const Json::exception& error) {
    // A number past the largest double, which the library reports without its place.
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
  // ResNet-50 takes 15 KB; a file of this size is something else, and would fill the memory.
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

}  // namespace jitterscope
