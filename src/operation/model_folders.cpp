#include "base/data_folders.hpp"
#include "operation/model.hpp"

namespace jitterscope {
namespace {

const DataFiles& model_files() {
  static const DataFiles files{"models", "JITTERSCOPE_MODELS", ".json"};
  return files;
}

}  // namespace

std::vector<std::string> model_names() { return model_files().names(); }
std::optional<std::filesystem::path> find_model(std::string_view name) { return model_files().find(name); }

}  // namespace jitterscope
