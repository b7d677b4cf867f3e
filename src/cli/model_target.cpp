#include "cli/model_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jitterscope/error.hpp"
#include "model/named_models.hpp"

namespace jitterscope::cli {
namespace {

// An operation's parameters are no options of a model: conv2d:n=1,… is not read as such.
bool is_named_model(const std::string& name) {
  const std::vector<ModelDescription> models = named_models();
  return std::any_of(models.begin(), models.end(), [&](const auto& model) { return model.name == name; });
}

}  // namespace

std::vector<std::string> known_models() {
  std::set<std::string> names;
  for (const ModelDescription& model : named_models()) names.insert(model.name);
  for (std::string& name : model_names()) names.insert(std::move(name));
  return {names.begin(), names.end()};
}

std::optional<Model> find_known_model(const std::string& target) {
  const std::size_t colon = target.find(':');
  const std::string name = target.substr(0, colon);
  const std::string options = colon == std::string::npos ? "" : target.substr(colon + 1);
  if (is_named_model(name)) return named_model(name, parse_model_options(options, name));
  const auto file = find_model(name);
  if (!file) return std::nullopt;
  if (!options.empty())
    throw UsageError(fmt::format("{}: a model file has its shapes and takes no options; {} gives them",
                                 target, file->string()));
  return load_model(*file);
}

}  // namespace jitterscope::cli
