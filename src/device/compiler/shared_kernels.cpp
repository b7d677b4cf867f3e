#include "device/compiler/shared_kernels.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/file_text.hpp"
#include "base/kernel_folder.hpp"

namespace jitterscope {
namespace {

// Each part behind its length, so that no two requests read alike.
std::string joined_parts(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += fmt::format("{}\n{}\n", part.size(), part);
  return text;
}

std::string key_of(const CompileRequest& request) {
  return joined_parts({request.source, request.file, request.kernel, std::to_string(request.architecture),
                       std::to_string(request.older_architecture), std::to_string(request.registers),
                       request.fast_math ? "1" : "0", std::to_string(request.optimize),
                       std::to_string(request.bound_threads), std::to_string(request.min_blocks)});
}

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& key) {
  return folder / fmt::format("{:016x}", std::hash<std::string>()(key));
}

}  // namespace

const CompiledKernel& compiled_kernel(const CompileRequest& request) {
  static std::mutex mutex;
  static std::map<CompileRequest, CompiledKernel> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(request); found != known.end()) return found->second;
  const char* folder = std::getenv(kKernelFolderVariable);
  if (folder == nullptr) return known.emplace(request, compile_kernel(request)).first->second;
  std::optional<CompiledKernel> kernel = find_kernel(folder, request);
  if (!kernel) leave_kernel(folder, request, kernel.emplace(compile_kernel(request)));
  return known.emplace(request, *std::move(kernel)).first->second;
}

std::optional<CompiledKernel> find_kernel(const std::filesystem::path& folder,
                                          const CompileRequest& request) {
  const std::string key = key_of(request);
  const std::string text = file_text(file_of(folder, key)).text;
  if (!text.starts_with(key)) return std::nullopt;  // another request of the same hash
  const std::size_t symbol_end = text.find('\n', key.size());
  if (symbol_end == std::string::npos) return std::nullopt;
  const std::size_t spills_end = text.find('\n', symbol_end + 1);
  if (spills_end == std::string::npos) return std::nullopt;
  const std::size_t sizes_end = text.find('\n', spills_end + 1);
  if (sizes_end == std::string::npos) return std::nullopt;
  CompiledKernel kernel{text.substr(sizes_end + 1), text.substr(key.size(), symbol_end - key.size()),
                        text.substr(symbol_end + 1, spills_end - symbol_end - 1)};
  if (kernel.image.empty() || kernel.symbol.empty()) return std::nullopt;
  std::istringstream sizes(text.substr(spills_end + 1, sizes_end - spills_end - 1));
  for (std::size_t size = 0; sizes >> size;) kernel.parameter_sizes.push_back(size);
  return kernel;
}

void leave_kernel(const std::filesystem::path& folder, const CompileRequest& request,
                  const CompiledKernel& kernel) {
  const std::string key = key_of(request);
  const std::filesystem::path whole = file_of(folder, key);
  const std::filesystem::path part = whole.string() + fmt::format(".{}", ::getpid());
  {
    std::ofstream file(part, std::ios::binary);
    file << key << kernel.symbol << '\n' << kernel.spills << '\n';
    for (const std::size_t size : kernel.parameter_sizes) file << size << ' ';
    file << '\n' << kernel.image;
    file.close();
    if (!file) return;
  }
  std::error_code ignored;
  std::filesystem::rename(part, whole, ignored);  // so that no process reads a part
}

}  // namespace jitterscope
