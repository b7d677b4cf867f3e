#include "device/torch/plugin.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/files.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "libjitterscope_torch.so";
constexpr const char* kHowToBuild =
    "build it with scripts/build-torch-plugin (docs/guide/pytorch-operators.md)";

std::optional<fs::path> find_file(std::string& problem) {
  for (const fs::path& file : plugin_files()) {
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
    problem = fmt::format("the plug-in for PyTorch is not there ({}): {}", file.string(), kHowToBuild);
  }
  return std::nullopt;
}

std::string other_interface(const fs::path& file, unsigned version) {
  return fmt::format("{} was built for version {} of the plug-in's interface and this jitterscope has {}: {}",
                     file.string(), version, JITTERSCOPE_TORCH_INTERFACE_VERSION, kHowToBuild);
}

// The loader names only a symbol or a file, but a user has to know which PyTorch is meant.
std::string loader_problem(const fs::path& file, const std::string& answer) {
  const BuiltWith built = read_built_with(file);
  if (!built.torch)
    return fmt::format("{} is not a plug-in of jitterscope for PyTorch ({})", file.string(), answer);
  const std::string found = found_torch(built.folder);
  const std::string with =
      fmt::format("it was built with PyTorch {} (C++ ABI {}) in {}", *built.torch, built.abi, built.folder);
  const bool is_symbol = answer.find("undefined symbol") != std::string::npos;
  const std::string there = found.empty() ? "which is not there now" : "where PyTorch " + found + " is now";
  return fmt::format("{} cannot be opened: {}, {}{} ({}): {}", file.string(), with, there,
                     is_symbol ? ", and what it needs is not in the PyTorch that is loaded" : "", answer,
                     kHowToBuild);
}

struct Opened {
  const JitterscopeTorchPlugin* plugin = nullptr;
  std::string problem;
};

Opened open_plugin(const fs::path& file) {
  Opened opened;
  // RTLD_LOCAL, because PyTorch brings its own libraries, whose symbols must not replace ours.
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* answer = dlerror();
    opened.problem = loader_problem(file, answer == nullptr ? "no reason given" : answer);
    return opened;
  }
  const auto entry =
      reinterpret_cast<JitterscopeTorchPluginFunction>(dlsym(handle, JITTERSCOPE_TORCH_SYMBOL));
  if (entry == nullptr) {
    opened.problem = fmt::format("{} is not a plug-in of jitterscope: it has no {}", file.string(),
                                 JITTERSCOPE_TORCH_SYMBOL);
    return opened;
  }
  const JitterscopeTorchPlugin* const plugin = entry();
  if (plugin->interface_version != JITTERSCOPE_TORCH_INTERFACE_VERSION) {
    opened.problem = other_interface(file, plugin->interface_version);
  } else {
    opened.plugin = plugin;
  }
  return opened;
}

}  // namespace

std::vector<fs::path> plugin_files() { return own_library_files("JITTERSCOPE_TORCH_PLUGIN", kFileName); }

const JitterscopeTorchPlugin& plugin() {
  // Never closed, as PyTorch keeps threads. A missing plug-in may be built while the process lives.
  static std::mutex mutex;
  static std::map<fs::path, const JitterscopeTorchPlugin*> known;
  const std::lock_guard lock(mutex);
  std::string problem;
  const auto file = find_file(problem);
  if (!file) throw MissingError(problem);
  const JitterscopeTorchPlugin*& plugin = known[*file];
  if (plugin == nullptr) {
    const Opened opened = open_plugin(*file);
    if (opened.plugin == nullptr) throw MissingError(opened.problem);
    plugin = opened.plugin;
  }
  return *plugin;
}

LibraryInfo torch_library() {
  LibraryInfo info{.name = "torch", .version = "", .path = "", .problem = ""};
  const auto file = find_file(info.problem);
  if (!file) return info;
  info.path = file->string();
  info.problem.clear();
  const BuiltWith built = read_built_with(*file);
  if (!built.torch) {
    info.problem = fmt::format("{} is not a plug-in of jitterscope for PyTorch", info.path);
  } else if (built.interface_version != JITTERSCOPE_TORCH_INTERFACE_VERSION) {
    info.problem = other_interface(*file, built.interface_version);
  } else if (found_torch(built.folder).empty()) {
    info.problem = fmt::format("it was built with PyTorch {} in {}, which is not there now: {}", *built.torch,
                               built.folder, kHowToBuild);
  } else {
    info.version = *built.torch + (built.cuda.empty() ? " (cpu)" : " (CUDA " + built.cuda + ")");
  }
  return info;
}

namespace {

// Returns the value of a key in `torch=2.11.0;`.
std::string value_of(std::string_view marker, std::string_view key) {
  const std::size_t begin = marker.find(key);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = marker.substr(begin + key.size());
  return std::string(rest.substr(0, rest.find(';')));
}

}  // namespace

BuiltWith read_built_with(const fs::path& plugin) {
  BuiltWith result;
  const std::string content = file_text(plugin).text;
  const std::size_t begin = content.find(JITTERSCOPE_TORCH_MARKER);
  if (begin == std::string::npos) return result;
  const std::string_view marker = content.c_str() + begin + std::string_view(JITTERSCOPE_TORCH_MARKER).size();
  result.torch = value_of(marker, "torch=");
  result.cuda = value_of(marker, "cuda=");
  result.abi = value_of(marker, "abi=");
  result.folder = value_of(marker, "folder=");
  const std::string version = value_of(marker, "interface=");
  std::from_chars(version.data(), version.data() + version.size(), result.interface_version);
  return result;
}

std::string found_torch(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "libtorch.so", ignored)) return {};
  const std::string text = file_text(folder.parent_path() / "version.py").text, key = "__version__ = '";
  const std::size_t begin = text.find(key);
  if (begin == std::string::npos) return "of unknown version";
  const std::size_t end = text.find('\'', begin + key.size());
  return text.substr(begin + key.size(), end - begin - key.size());
}

namespace {

// Calls a function of the plug-in and throws the error that it returns.
template <class Function, class... Arguments>
void call(Function* function, Arguments... arguments) {
  std::array<char, 2048> error;  // written only on failure: clearing it would take as long as a launch
  error[0] = '\0';
  const JitterscopeTorchResult result = function(arguments..., error.data(), error.size());
  switch (result) {
    case JITTERSCOPE_TORCH_DONE: return;
    case JITTERSCOPE_TORCH_USAGE: throw UsageError(error.data());
    case JITTERSCOPE_TORCH_MISSING: throw MissingError(error.data());
    case JITTERSCOPE_TORCH_FAILED: break;
  }
  throw FailedError(error.data());
}

// Returns the regions that a function of the plug-in lists.
template <class List>
std::vector<MemoryRegion> regions_of(List* list, const JitterscopeTorchOperation* operation) {
  std::vector<JitterscopeTorchRegion> regions(list(operation, nullptr, 0));
  regions.resize(list(operation, regions.data(), regions.size()));
  std::vector<MemoryRegion> result;
  for (const JitterscopeTorchRegion& region : regions)
    result.push_back({region.address, Bytes(region.bytes)});
  return result;
}

std::vector<JitterscopeTorchGiven> given_memory(const Operation& operation, const InputData& data) {
  std::vector<JitterscopeTorchGiven> given;
  for (const Bytes size : tensor_sizes(std::get<Aten>(operation.parameters()))) {
    const SharedOperand* shared = find_shared(data, given.size(), size);
    const auto memory = shared == nullptr ? std::nullopt : owned_memory(*shared);
    given.push_back({nullptr, 0});
    if (!memory) continue;
    given.back() = {static_cast<std::byte*>(memory->address) + shared->offset.value(),
                    is_filled_by_owner(*shared) ? 1 : 0};
  }
  return given;
}

}  // namespace

Handle::Handle(const Operation& operation, const InputData& data, const Place& place)
    : plugin_(&torch::plugin()), operation_(nullptr, plugin_->destroy) {
  const std::string text = operation.text(), kind(to_string(data.kind));
  const std::vector<JitterscopeTorchGiven> given = given_memory(operation, data);
  const JitterscopeTorchRequest request{text.c_str(),  place.device_type.c_str(),
                                        place.ordinal, place.queue,
                                        kind.c_str(),  data.seed,
                                        given.data(),  given.size()};
  JitterscopeTorchOperation* made = nullptr;
  call(plugin_->prepare, &request, &made);
  operation_.reset(made);
}

void TorchOperation::run(NativeQueue queue) { call(handle_.plugin().run, handle_.get(), queue); }

bool TorchOperation::produce_inputs(NativeQueue queue) {
  call(handle_.plugin().produce_inputs, handle_.get(), queue);
  return true;
}

std::vector<MemoryRegion> TorchOperation::memory() const {
  return regions_of(handle_.plugin().memory, handle_.get());
}

std::vector<MemoryRegion> TorchOperation::operand_memory() const {
  return regions_of(handle_.plugin().operands, handle_.get());
}

std::size_t TorchOperation::input_count() const {
  return tensor_sizes(std::get<Aten>(operation_.parameters())).size();
}

std::vector<double> TorchOperation::read_operand(std::size_t index) {
  const std::int64_t elements = handle_.plugin().output_elements(handle_.get(), index);
  if (elements < 0) {
    throw UsageError(fmt::format("{} has {} outputs; there is no output {}", algorithm(),
                                 handle_.plugin().output_count(handle_.get()), index));
  }
  std::vector<double> values(static_cast<std::size_t>(elements));
  call(handle_.plugin().read_output, handle_.get(), index, values.data());
  return values;
}

std::unique_ptr<PreparedOperation> prepare_aten(const Operation& operation, const InputData& data,
                                                const Place& place) {
  return std::make_unique<TorchOperation>(operation, Handle(operation, data, place));
}

}  // namespace jitterscope::torch
