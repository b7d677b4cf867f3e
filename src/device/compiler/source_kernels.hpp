// The kernels of a CUDA source as its text declares them, read without a compiler: their names and what kind
// of argument each parameter takes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

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
