// Checks a user's kernel before it runs: its compile request, and its arguments.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/compiler/nvrtc.hpp"

namespace jitterscope {

/// For a GPU of this compute capability (90 for 9.0). Throws UsageError if the kernel asks for a newer one,
/// or its file cannot be read.
CompileRequest compile_request(const CudaKernel& kernel, int architecture);

/// Throws UsageError if arguments are missing or left over, if sizes differ, or if the source shows that a
/// buffer is given for a number or a number for a pointer.
void check_arguments(const CudaKernel& kernel, const CompileRequest& request, const CompiledKernel& compiled);

/// Checks all that is known without a compiler. Throws UsageError if the source has no such kernel or
/// reference, or if they take other arguments.
void check_source(const CudaKernel& kernel, const CompileRequest& request);

/// Returns the text of a file, or of the program's source @NAME. Throws UsageError if there is none.
std::string kernel_source(const std::string& file);

// Reads kernels from the text of a CUDA source, without a compiler: names, and the kind of each parameter.

struct KernelParameter {
  /// unknown: a type that only a compiler knows, as a template's or a struct.
  enum class Kind { pointer, number, unknown };
  std::string text;  ///< "const float* x"
  Kind kind = Kind::unknown;
};

struct SourceKernel {
  std::string name;  ///< with its namespaces: app::scale
  bool is_template = false;
  bool has_pack = false;  ///< the template's arguments decide how many parameters
  std::vector<KernelParameter> parameters = {};
};

struct SourceKernels {
  std::vector<SourceKernel> kernels;  ///< in their order; an overloaded name comes several times
  bool is_complete = true;            ///< false if macros make kernels or name files: others may exist
  bool uses_namespaces = false;       ///< by `using namespace`, so that names may lack theirs
};

/// Includes files that `file` includes from its folder. Parts that #if excludes count too.
SourceKernels kernels_in(const std::string& source, const std::string& file);

/// Returns the kernels that scale<float>, app::scale or ::scale may mean.
std::vector<SourceKernel> find_kernels(const SourceKernels& all, std::string_view expression);

/// Throws UsageError that lists the source's kernels.
[[noreturn]] void fail_unknown_kernel(const std::string& file, const std::string& kernel,
                                      const SourceKernels& all);

}  // namespace jitterscope
