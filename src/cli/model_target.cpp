#include "cli/model_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/names.hpp"
#include "import/import.hpp"
#include "jitterscope/error.hpp"
#include "model/named_models.hpp"
#include "operation/parse.hpp"
#include "operation/words.hpp"

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
      fmt::format("{}: a model file has its sizes in it; '{}' applies to networks by name and to ONNX files",
                  target.name, target.options));
}

std::vector<std::string> known_models() {
  std::vector<std::string> names = model_names();
  for (const ModelDescription& model : named_models()) names.push_back(model.name);
  return names;
}

const OperationHelp* find_operation(std::string_view kind) {
  for (const OperationHelp& help : operation_help()) {
    if (help.kind == kind) return &help;
  }
  return nullptr;
}

// `batch=2` of `(batch=2)`, `, batch=2` and `batch=2,`.
std::string without_brackets(std::string_view text) {
  constexpr std::string_view kAround = " \t,;:()[]";
  const std::size_t first = text.find_first_not_of(kAround);
  if (first == std::string_view::npos) return "…";
  return std::string(text.substr(first, text.find_last_not_of(kAround) - first + 1));
}

// resnet50,batch=32 and conv2d(n=1,c=3): a name that is known, and no colon behind it.
void refuse_other_separator(const std::string& text, const std::string& name) {
  const OperationHelp* help = find_operation(name);
  const bool is_model = std::ranges::count(known_models(), name) > 0;
  if ((help == nullptr && !is_model) || text.size() == name.size()) return;
  const std::string rest = without_brackets(std::string_view(text).substr(name.size()));
  throw UsageError(fmt::format(
      "{}: what belongs to {} follows behind a colon and without spaces, as in {}", in_quotes(text), name,
      help == nullptr || rest.find('=') != std::string::npos ? name + ":" + rest : help->example));
}

[[noreturn]] void fail_unknown(const std::string& text, const std::vector<std::string>& others) {
  const std::string name = text.substr(0, text.find_first_of(":,;( ["));
  if (name.find('=') != std::string::npos) {
    throw UsageError(
        fmt::format("{} stands alone: an option follows its model or operation behind a colon, as in "
                    "resnet18:{}",
                    in_quotes(text), without_brackets(text)));
  }
  if (name == "python") {
    throw UsageError(
        fmt::format("{}: functions of Python are for run, compare, explain and gate, none beside other work; "
                    "advise for a module is js.advise(model, batch) in Python",
                    in_quotes(text)));
  }
  refuse_other_separator(text, name);
  if (const OperationHelp* help = find_operation(name)) {
    throw UsageError(
        fmt::format("{} is an operation without its parameters: write them behind a colon, as in {}",
                    in_quotes(text), help->example));
  }
  const std::string problem =
      fmt::format("{} is neither a model, nor an operation, nor a file", in_quotes(name));
  const std::vector<std::string> models = known_models();
  std::vector<std::string> known = others;
  known.insert(known.end(), models.begin(), models.end());
  for (const OperationHelp& help : operation_help()) known.push_back(help.kind);
  const std::string nearest = nearest_name(name, known);
  if (find_operation(nearest) != nullptr) throw UsageError(problem + kind_hint(name));
  if (nearest.empty()) {
    throw UsageError(fmt::format("{}; models are {}; jitterscope list shows all that can be timed", problem,
                                 joined(models)));
  }
  throw UsageError(fmt::format("{} (did you mean '{}'?); see jitterscope list", problem, nearest));
}

}  // namespace

bool names_operation(std::string_view target) {
  const std::size_t colon = target.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view word = trimmed(target.substr(0, colon));
  return std::ranges::any_of(operation_help(), [&](const OperationHelp& help) { return help.kind == word; });
}

void fail_nothing_chosen(const std::string& only, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  // From all over the model: its first layers are of one kind.
  std::vector<std::string> some;
  const std::size_t step = std::max<std::size_t>(1, names.size() / kShown);
  for (std::size_t i = 0; i < names.size() && some.size() < kShown; i += step) {
    some.push_back(printable(names[i], 60));
  }
  // Where other flags take a list, a regular expression has its own way to say "or".
  std::string either = only;
  std::ranges::replace(either, ',', '|');
  const std::string hint =
      either == only ? std::string() : fmt::format("; for one or the other write {}", in_quotes(either));
  throw UsageError(fmt::format("--only: {} is in no layer's name and in no operation{}; layers are {} …",
                               in_quotes(only), hint, joined(some)));
}

Model read_model_target(const std::string& text, const std::vector<std::string>& others) {
  const Target target = split_target(text);
  const std::vector<std::string> models = known_models();
  const bool is_file = exists(target.name), is_model = std::ranges::count(models, target.name) > 0;
  if (!is_file && !is_model) {
    if (looks_like_path(target.name)) {
      throw UsageError(target.name + ": there is no such file; check the path and the folder you are in");
    }
    fail_unknown(text, others);
  }
  const ModelOptions options = parse_model_options(target.options, target.name);
  if (is_file) return import_file(target.name, options);
  if (auto model = named_model(target.name, options)) return *std::move(model);
  if (const auto file = find_model(target.name)) {
    refuse_options(target);
    return load_model(*file);
  }
  fail_unknown(text, others);
}

}  // namespace jitterscope::cli
