#include "device/compiler/nvrtc.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/shared_library.hpp"
#include "device/compiler/user_kernel.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {

/// Returns the folders with cuda_fp16.h and with cuda/std: first the library's own toolkit, then NVIDIA's
/// wheels, $CUDA_HOME and /usr/local/cuda, then the system. Fewer if not all are found.
std::vector<std::string> cuda_header_folders(const std::string& library);

namespace {

// Declares the library's stable binary interface: its header is a package of its own, which users who have
// nvcc may lack.
using NvrtcProgram = struct NvrtcProgramHandle*;
constexpr int kNvrtcSuccess = 0, kNvrtcCompilation = 6;

struct Nvrtc {
  SharedLibrary library;
  int (*version)(int*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*number_of_architectures)(int*) = nullptr;
  int (*architectures)(int*) = nullptr;
  int (*create)(NvrtcProgram*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(NvrtcProgram*) = nullptr;
  int (*compile)(NvrtcProgram, int, const char* const*) = nullptr;
  int (*log_size)(NvrtcProgram, std::size_t*) = nullptr;
  int (*log)(NvrtcProgram, char*) = nullptr;
  int (*cubin_size)(NvrtcProgram, std::size_t*) = nullptr;
  int (*cubin)(NvrtcProgram, char*) = nullptr;
  int (*ptx_size)(NvrtcProgram, std::size_t*) = nullptr;
  int (*ptx)(NvrtcProgram, char*) = nullptr;
  int (*add_name)(NvrtcProgram, const char*) = nullptr;
  int (*lowered_name)(NvrtcProgram, const char*, const char**) = nullptr;
};

const char* look_up_nvrtc(Nvrtc& functions) {
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(functions.library.find(name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  find(functions.version, "nvrtcVersion");
  find(functions.error_string, "nvrtcGetErrorString");
  find(functions.number_of_architectures, "nvrtcGetNumSupportedArchs");
  find(functions.architectures, "nvrtcGetSupportedArchs");
  find(functions.create, "nvrtcCreateProgram");
  find(functions.destroy, "nvrtcDestroyProgram");
  find(functions.compile, "nvrtcCompileProgram");
  find(functions.log_size, "nvrtcGetProgramLogSize");
  find(functions.log, "nvrtcGetProgramLog");
  find(functions.cubin_size, "nvrtcGetCUBINSize");
  find(functions.cubin, "nvrtcGetCUBIN");
  find(functions.ptx_size, "nvrtcGetPTXSize");
  find(functions.ptx, "nvrtcGetPTX");
  find(functions.add_name, "nvrtcAddNameExpression");
  find(functions.lowered_name, "nvrtcGetLoweredName");
  return missing;
}

const FunctionTable<Nvrtc>& opened_nvrtc() {
  static const FunctionTable<Nvrtc> opened =
      open_functions({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}, look_up_nvrtc);
  return opened;
}

const Nvrtc& nvrtc() {
  return opened_nvrtc().require("kernels of your own need NVRTC",
                                "nvidia-cuda-nvrtc, or nvidia-cuda-nvrtc-cu12 for CUDA 12");
}

void check_nvrtc(int result, const char* what) {
  if (result == kNvrtcSuccess) return;
  throw FailedError(fmt::format("{}: {}", what, nvrtc().error_string(result)));
}

std::string version_of(const Nvrtc& library) {
  int major = 0, minor = 0;
  return library.version(&major, &minor) == kNvrtcSuccess ? fmt::format("{}.{}", major, minor) : "";
}

// NVRTC has no option for launch bounds, and those of its ptxas came with CUDA 12.4 or later, so macros
// redefine the source's words. Lines keep their numbers.
std::string bounded_source(const CompileRequest& request) {
  if (request.min_blocks == 0) return request.source;
  return fmt::format(
      "#undef __launch_bounds__\n"
      "#define __launch_bounds__(...)\n"
      "#undef __global__\n"
      "#define __global__ __attribute__((global)) __attribute__((launch_bounds({}, {})))\n"
      "#line 1\n{}",
      request.bound_threads, request.min_blocks, request.source);
}

// NVRTC has no headers of the host's C library. Files of kernels include these for types, or for a printf
// that NVRTC has built in. The types are those of cuda/std.
constexpr const char* kSizes =
    "#pragma once\ntypedef decltype(sizeof(0)) size_t;\ntypedef decltype((char*)0 - (char*)0) ptrdiff_t;\n";
constexpr const char* kIntegers =
    "#pragma once\n"
    "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\n"
    "typedef short int16_t;\ntypedef unsigned short uint16_t;\n"
    "typedef int int32_t;\ntypedef unsigned int uint32_t;\n"
    "typedef long long int64_t;\ntypedef unsigned long long uint64_t;\n"
    "typedef int64_t intptr_t;\ntypedef uint64_t uintptr_t;\n";
constexpr const char* kNothing = "#pragma once\n";
constexpr std::array<const char*, 8> kHostHeaders = {"stddef.h", "cstddef", "stdint.h", "cstdint",
                                                     "stdio.h",  "cstdio",  "stdlib.h", "cstdlib"};
constexpr std::array<const char*, kHostHeaders.size()> kHostHeaderTexts = {
    kSizes, kSizes, kIntegers, kIntegers, kNothing, kNothing, kSizes, kSizes};

class Program {
 public:
  explicit Program(const CompileRequest& request) {
    const std::string source = bounded_source(request);
    check_nvrtc(
        nvrtc().create(&handle_, source.c_str(), request.file.c_str(), static_cast<int>(kHostHeaders.size()),
                       kHostHeaderTexts.data(), kHostHeaders.data()),
        "handing the source to NVRTC");
  }
  ~Program() { nvrtc().destroy(&handle_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int compile(const std::string& kernel, const std::vector<std::string>& options) {
    check_nvrtc(nvrtc().add_name(handle_, kernel.c_str()), "naming the kernel to NVRTC");
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    return nvrtc().compile(handle_, static_cast<int>(pointers.size()), pointers.data());
  }
  std::string log() const { return text_of(nvrtc().log_size, nvrtc().log); }
  std::string machine_code() const { return text_of(nvrtc().cubin_size, nvrtc().cubin); }
  std::string ptx() const { return text_of(nvrtc().ptx_size, nvrtc().ptx); }
  std::string symbol_of(const std::string& kernel) const {
    const char* name = nullptr;
    check_nvrtc(nvrtc().lowered_name(handle_, kernel.c_str(), &name), "asking NVRTC for the kernel's symbol");
    return name;
  }

 private:
  std::string text_of(int (*size_of)(NvrtcProgram, std::size_t*), int (*write)(NvrtcProgram, char*)) const {
    std::size_t size = 0;
    check_nvrtc(size_of(handle_, &size), "asking NVRTC for what it has made");
    std::string text(size, '\0');
    if (size > 0) check_nvrtc(write(handle_, text.data()), "asking NVRTC for what it has made");
    return text;
  }

  NvrtcProgram handle_ = nullptr;
};

std::vector<int> known_architectures() {
  int count = 0;
  check_nvrtc(nvrtc().number_of_architectures(&count), "asking NVRTC for what it compiles for");
  std::vector<int> known(static_cast<std::size_t>(count));
  check_nvrtc(nvrtc().architectures(known.data()), "asking NVRTC for what it compiles for");
  return known;
}

std::string older_architecture_option(std::int64_t architecture) {
  const std::vector<int> known = known_architectures();
  if (std::ranges::find(known, architecture) != known.end())
    return fmt::format("--gpu-architecture=compute_{}", architecture);
  throw UsageError(fmt::format(
      "NVRTC {} does not compile for architecture={}; take one of {}, or name the folder of another "
      "libnvrtc in JITTERSCOPE_LIBRARY_PATH",
      version_of(nvrtc()), architecture, fmt::join(known, ", ")));
}

// Asks for machine code; if the compiler does not know the GPU, for PTX of the newest architecture before it,
// which the driver compiles.
std::string architecture_option(int architecture) {
  int older = 0;
  for (const int each : known_architectures()) {
    if (each == architecture) return fmt::format("--gpu-architecture=sm_{}", architecture);
    if (each < architecture) older = std::max(older, each);
  }
  if (older > 0) return fmt::format("--gpu-architecture=compute_{}", older);
  throw MissingError(fmt::format(
      "NVRTC {} does not compile for compute capability {}.{}; name the folder of an older libnvrtc in "
      "JITTERSCOPE_LIBRARY_PATH",
      version_of(nvrtc()), architecture / 10, architecture % 10));
}

std::vector<std::string> options_of(const CompileRequest& request) {
  std::vector<std::string> options = {request.older_architecture > 0
                                          ? older_architecture_option(request.older_architecture)
                                          : architecture_option(request.architecture),
                                      "--ptxas-options=-v",  // prints what is spilled
                                      // A file may have a main beside its kernels.
                                      "--device-as-default-execution-space"};
  const std::filesystem::path folder = std::filesystem::path(request.file).parent_path();
  options.push_back("--include-path=" + (folder.empty() ? std::string(".") : folder.string()));
  for (const std::string& headers : cuda_header_folders(nvrtc().library.path()))
    options.push_back("--include-path=" + headers);
  if (request.registers > 0) options.push_back(fmt::format("--maxrregcount={}", request.registers));
  if (request.fast_math) options.emplace_back("--use_fast_math");
  if (request.optimize != kFullOptimization)
    options.push_back(fmt::format("--ptxas-options=-O{}", request.optimize));
  return options;
}

// Throws with the errors only, each with its place, without the source lines that the compiler shows.
[[noreturn]] void fail_compilation(const CompileRequest& request, const std::string& log) {
  constexpr std::size_t kShown = 5, kLongest = 300;
  constexpr std::string_view kOfTheName = "__nv_name_map";  // where it reads the kernel's name
  std::vector<std::string> errors;
  bool of_the_name = false;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error") == std::string::npos) continue;
    if (line.find(" detected in the compilation of ") != std::string::npos) continue;
    of_the_name = of_the_name || line.starts_with(kOfTheName);
    if (!line.starts_with(kOfTheName)) errors.push_back(printable(line, kLongest));
  }
  if (errors.empty() && of_the_name)
    fail_unknown_kernel(request.file, request.kernel, kernels_in(request.source, request.file));
  if (errors.empty()) errors.push_back(printable(log, kLongest));
  const std::size_t more = errors.size() - std::min(errors.size(), kShown);
  errors.resize(errors.size() - more);
  throw UsageError(fmt::format("{} does not compile: {}{}", request.file, fmt::join(errors, "; "),
                               more > 0 ? fmt::format("; and {} more errors", more) : ""));
}

// Reads "Function properties for SYMBOL" and its next line, "0 bytes stack frame, 8 bytes spill stores, …".
std::string spills_in(const std::string& log, const std::string& symbol) {
  constexpr std::string_view kFrame = " bytes stack frame, ";
  const std::size_t function = log.find("Function properties for " + symbol + "\n");
  if (function == std::string::npos) return {};
  const std::size_t frame = log.find(kFrame, function);
  if (frame == std::string::npos) return {};
  const std::size_t begin = frame + kFrame.size();
  return printable(log.substr(begin, log.find('\n', begin) - begin), 100);
}

// Reads the lines after ".entry SYMBOL(": ".param .u64 SYMBOL_param_0," or ".param .align 8 .b8
// SYMBOL_param_1[16]".
std::vector<std::size_t> parameter_sizes_in(const std::string& ptx, const std::string& symbol) {
  std::vector<std::size_t> sizes;
  const std::size_t entry = ptx.find(".entry " + symbol + '(');
  if (entry == std::string::npos) throw FailedError("NVRTC's code does not show the parameters of " + symbol);
  std::istringstream lines(ptx.substr(entry, ptx.find(')', entry) - entry));
  for (std::string line; std::getline(lines, line);) {
    if (line.find(".param") == std::string::npos) continue;
    std::size_t bits = 0, count = 1;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const bool is_type = word.size() > 2 &&
                           std::string_view("bufs").find(word[1]) != std::string_view::npos &&
                           word.find_first_not_of("0123456789", 2) == std::string::npos;
      if (word.front() == '.' && is_type) bits = std::stoul(word.substr(2));
      if (const std::size_t bracket = word.find('['); bracket != std::string::npos)
        count = std::stoul(word.substr(bracket + 1));
    }
    sizes.push_back(bits / 8 * count);
  }
  return sizes;
}

}  // namespace

bool CompileRequest::operator<(const CompileRequest& other) const {
  const auto fields = [](const CompileRequest& request) {
    return std::tie(request.source, request.file, request.kernel, request.architecture,
                    request.older_architecture, request.registers, request.fast_math, request.optimize,
                    request.bound_threads, request.min_blocks);
  };
  return fields(*this) < fields(other);
}

CompiledKernel compile_kernel(const CompileRequest& request) {
  Program program(request);
  const int result = program.compile(request.kernel, options_of(request));
  if (result == kNvrtcCompilation) fail_compilation(request, program.log());
  if (result != kNvrtcSuccess) {
    throw FailedError(fmt::format("compiling {}: {} ({})", request.file, nvrtc().error_string(result),
                                  printable(program.log(), 300)));
  }
  const std::string symbol = program.symbol_of(request.kernel), ptx = program.ptx();
  const std::string machine_code = program.machine_code();
  return {machine_code.empty() ? ptx : machine_code, symbol, spills_in(program.log(), symbol),
          parameter_sizes_in(ptx, symbol)};
}

LibraryInfo nvrtc_library() {
  const auto& opened = opened_nvrtc();
  LibraryInfo info{.name = "nvrtc", .version = "", .path = opened.path, .problem = opened.problem};
  if (opened.functions) info.version = version_of(*opened.functions);
  return info;
}

namespace {

// Each part follows its length, so that no two requests read alike.
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
  if (!text.starts_with(key)) return std::nullopt;  // another request with the same hash
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

namespace {

namespace fs = std::filesystem;

// Adds the include folders beside a folder of libraries: that of a toolkit or wheel, and those of other
// wheels (cuda_runtime has the headers, cuda_nvrtc the library, and cuda_cccl those in cuda/std).
void add_include_folders(std::vector<fs::path>& folders, const fs::path& libraries) {
  std::error_code error;
  folders.push_back(libraries.parent_path() / "include");
  if (libraries.parent_path().parent_path().filename() != "nvidia") return;
  for (const auto& wheel : fs::directory_iterator(libraries.parent_path().parent_path(), error))
    folders.push_back(wheel.path() / "include");
}

}  // namespace

std::vector<std::string> cuda_header_folders(const std::string& library) {
  std::error_code error;
  std::vector<fs::path> candidates;
  const fs::path real = fs::canonical(library, error);
  if (!error) add_include_folders(candidates, real.parent_path());
  for (const std::string& folder : nvidia_library_folders())
    add_include_folders(candidates, fs::path(folder));
  candidates.emplace_back("/usr/include");
  std::vector<std::string> found;
  const auto add_first = [&](const std::vector<std::string>& below, const char* header) {
    for (const fs::path& candidate : candidates) {
      for (const std::string& part : below) {
        const fs::path folder = part.empty() ? candidate : candidate / part;
        if (!fs::exists(folder / header, error)) continue;
        if (std::ranges::find(found, folder.string()) == found.end()) found.push_back(folder.string());
        return;
      }
    }
  };
  add_first({""}, "cuda_fp16.h");
  add_first({"", "cccl"}, "cuda/std/cstdint");  // below cccl since CUDA 13
  return found;
}

}  // namespace jitterscope
