// A user's kernel before anything runs it: what is asked of the compiler, and whether its arguments fit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/compiler/nvrtc.hpp"

namespace jitterscope {

/// For a GPU of this compute capability (90 for 9.0). Throws UsageError where the kernel is to be code for a
/// newer one, or its file cannot be read.
CompileRequest compile_request(const CudaKernel& kernel, int architecture);

/// Throws UsageError where there are more or fewer arguments than parameters, one has another size, or the
/// source shows that a buffer is given for a number or a number for a pointer.
void check_arguments(const CudaKernel& kernel, const CompileRequest& request, const CompiledKernel& compiled);

/// Throws UsageError where the text of the source shows that it has no such kernel, no reference of that
/// name, or that they take other arguments: all that is known without a compiler.
void check_source(const CudaKernel& kernel, const CompileRequest& request);

// The sources of kernels: files of the user's, and a few that the program carries.

/// The text of a file, or of what the program carries as @NAME. Throws UsageError where there is no such.
std::string kernel_source(const std::string& file);

// The kernels of a CUDA source as its text declares them, read without a compiler: their names and what kind
// of argument each parameter takes.

struct KernelParameter {
  /// unknown: a type that only a compiler knows, as a template's or a struct.
  enum class Kind { pointer, number, unknown };
  std::string text;  ///< "const float* x"
  Kind kind = Kind::unknown;
};

struct SourceKernel {
  std::string name;  ///< with its namespaces, as app::scale
  bool is_template = false;
  bool has_pack = false;  ///< as many parameters as the template's arguments say
  std::vector<KernelParameter> parameters = {};
};

struct SourceKernels {
  std::vector<SourceKernel> kernels;  ///< in their order; an overloaded name several times
  bool is_complete = true;  ///< false where macros make kernels, or name files: what is not here may be there
  bool uses_namespaces = false;  ///< by `using namespace`, so that names may go without theirs
};

/// Of the text and of what it includes from beside `file`. Parts that #if leaves out count too.
SourceKernels kernels_in(const std::string& source, const std::string& file);

/// Those that an expression as scale<float>, app::scale or ::scale may mean.
std::vector<SourceKernel> find_kernels(const SourceKernels& all, std::string_view expression);

/// Throws UsageError with the kernels that there are.
[[noreturn]] void fail_unknown_kernel(const std::string& file, const std::string& kernel,
                                      const SourceKernels& all);

}  // namespace jitterscope
