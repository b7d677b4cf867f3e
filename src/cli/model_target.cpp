#include "cli/model_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/names.hpp"
#include "import/import.hpp"
#include "jitterscope/error.hpp"
#include "model/named_models.hpp"

namespace jitterscope::cli {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool looks_like_path(const std::string& target) {
  if (target.find('/') != std::string::npos) return true;
  return std::ranges::any_of(std::initializer_list<std::string_view>{".json", ".gz", ".log", ".onnx", ".txt"},
                             [&](std::string_view ending) { return target.ends_with(ending); });
}

struct Target {
  std::string name, options;
};

// A file's name may hold a colon itself, so a file that exists is taken as it is typed.
Target split_target(const std::string& target) {
  const std::size_t colon = target.rfind(':');
  if (exists(target) || colon == std::string::npos) return {target, ""};
  return {target.substr(0, colon), target.substr(colon + 1)};
}

void refuse_options(const Target& target) {
  if (target.options.empty()) return;
  throw UsageError(
      fmt::format("{}: a model file has its sizes in it; '{}' applies to networks by name and to "
                  "ONNX files",
                  target.name, target.options));
}

[[noreturn]] void fail_unknown(const std::string& name, std::vector<std::string> known) {
  if (name.find('=') != std::string::npos) {
    throw UsageError(fmt::format(
        "'{}' stands alone: an option follows its model or operation behind a colon, as in resnet18:{}", name,
        name));
  }
  for (const std::string& model : model_names()) known.push_back(model);
  for (const ModelDescription& model : named_models()) known.push_back(model.name);
  for (const OperationHelp& help : operation_help()) known.push_back(help.kind + ":…");
  throw UsageError(
      fmt::format("'{}' is neither a model, nor an operation, nor a file{}; see jitterscope list", name,
                  suggestion(name, known)));
}

}  // namespace

bool names_operation(std::string_view target) {
  const std::string_view word = target.substr(0, target.find(':'));
  if (word.size() == target.size()) return false;
  return std::ranges::any_of(operation_help(), [&](const OperationHelp& help) { return help.kind == word; });
}

Model read_model_target(const std::string& text, const std::vector<std::string>& others) {
  const Target target = split_target(text);
  const ModelOptions options = parse_model_options(target.options, target.name);
  if (exists(target.name)) return import_file(target.name, options);
  if (auto model = named_model(target.name, options)) return *std::move(model);
  if (const auto file = find_model(target.name)) {
    refuse_options(target);
    return load_model(*file);
  }
  if (looks_like_path(target.name)) throw UsageError(target.name + ": there is no such file");
  fail_unknown(target.name, others);
}

}  // namespace jitterscope::cli
