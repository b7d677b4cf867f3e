// A user's kernel before anything runs it: what is asked of the compiler, and whether its arguments fit.
#pragma once

#include <string>

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

}  // namespace jitterscope
