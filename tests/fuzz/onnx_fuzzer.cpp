// Any file is a model of ONNX operators or a UsageError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/files.hpp"
#include "import/import.hpp"
#include "jitterscope/error.hpp"

using namespace jitterscope;

// A file beside the model, for tensors that say that their numbers are in "data".
const std::string& model_file() {
  static const TemporaryFolder folder;
  static const std::string file = [] {
    std::ofstream stream(folder.path() / "data", std::ios::binary);
    for (int i = 0; i < 512; ++i) stream.put(static_cast<char>(i % 8 == 0 ? 1 + i / 8 : 0));
    return (folder.path() / "fuzz.onnx").string();
  }();
  return file;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // The first byte chooses what is asked for, the rest is the file.
  ModelOptions options;
  if (data[0] & 1) options.batch = 4;
  options.training_asked = (data[0] & 2) != 0;
  if (data[0] & 4) options.axes["seq"] = 8;
  try {
    const Model model =
        import_onnx({reinterpret_cast<const char*>(data) + 1, size - 1}, model_file(), options);
    if (model.layers.empty() || model.calls.empty()) std::abort();
    for (const Call& call : model.calls) {
      if (call.layer >= model.layers.size() || call.name.empty()) std::abort();
    }
  } catch (const UsageError&) {
  }
  return 0;
}
