#include "device/compiler/user_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/compiler/kernel_source.hpp"
#include "device/compiler/source_kernels.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

[[noreturn]] void refuse(const std::string& kernel, const std::string& problem) {
  throw UsageError(fmt::format("{}: {}", kernel, problem));
}

const char* how_to_give(std::size_t bytes) {
  switch (bytes) {
    case 1: return "write it as i8:… or u8:… (a bool is u8:0 or u8:1)";
    case 2: return "write it as i16:…, u16:…, f16:… or bf16:…";
    case 4: return "write it as an int (5), u32:… or a float (2.5)";
    case 8: return "write it as a buffer, i64:…, u64:… or f64:…";
    default: return "only parameters of 1, 2, 4 and 8 bytes can be given: change the kernel's";
  }
}

std::size_t size_of(const KernelArgument& argument) {
  return is_buffer(argument) ? sizeof(void*) : number_type_word(argument.number_type).bytes;
}

void refuse_count(const std::string& kernel, std::size_t parameters, std::size_t arguments) {
  refuse(kernel,
         fmt::format("it has {} parameters, and {} arguments are given; write one for each, in their order",
                     parameters, arguments));
}

bool takes(const KernelParameter& parameter, const KernelArgument& argument) {
  return parameter.kind == KernelParameter::Kind::unknown ||
         (parameter.kind == KernelParameter::Kind::pointer) == is_buffer(argument);
}

// Of kernels of this name with as many parameters; where several have, a compiler would choose.
void check_kinds(const std::string& name, const std::vector<SourceKernel>& named, const CudaKernel& kernel) {
  const auto has_as_many = [&](const SourceKernel& each) {
    return !each.has_pack && each.parameters.size() == kernel.arguments.size();
  };
  if (std::ranges::count_if(named, has_as_many) != 1 || std::ranges::any_of(named, &SourceKernel::has_pack))
    return;
  const SourceKernel& found = *std::ranges::find_if(named, has_as_many);
  for (std::size_t i = 0; i < found.parameters.size(); ++i) {
    const KernelParameter& parameter = found.parameters[i];
    const KernelArgument& argument = kernel.arguments[i];
    if (takes(parameter, argument)) continue;
    refuse(
        name,
        is_buffer(argument)
            ? fmt::format("parameter {}, {}, is a number, and {} is a buffer; write {}=5, or with its type",
                          i + 1, parameter.text, argument.name, argument.name)
            : fmt::format(
                  "parameter {}, {}, is a pointer, and {} is a number; write a buffer, as {}=f32[1Mi]", i + 1,
                  parameter.text, argument.name, argument.name));
  }
}

std::vector<SourceKernel> known_kernels(const std::string& name, const SourceKernels& all,
                                        const CompileRequest& request) {
  std::vector<SourceKernel> named = find_kernels(all, name);
  if (named.empty() && all.is_complete) fail_unknown_kernel(request.file, name, all);
  const bool has_arguments = name.find('<') != std::string::npos;
  const auto is_as_written = [&](const SourceKernel& each) { return each.is_template == has_arguments; };
  if (named.empty() || std::ranges::any_of(named, is_as_written)) return named;
  refuse(name,
         has_arguments
             ? fmt::format("{} has it without template arguments; leave them out", request.file)
             : fmt::format("it is a template in {}; write its arguments, as {}<float>", request.file, name));
}

void check_text(const std::string& name, const SourceKernels& all, const CudaKernel& kernel,
                const CompileRequest& request) {
  const std::vector<SourceKernel> named = known_kernels(name, all, request);
  const auto may_take = [&](const SourceKernel& each) {
    return each.has_pack || each.parameters.size() == kernel.arguments.size();
  };
  if (!named.empty() && std::ranges::none_of(named, may_take))
    refuse_count(name, named.front().parameters.size(), kernel.arguments.size());
  check_kinds(name, named, kernel);
}

}  // namespace

CompileRequest compile_request(const CudaKernel& kernel, int architecture) {
  if (kernel.architecture > architecture) {
    refuse(kernel.kernel,
           fmt::format(
               "architecture={} is newer than this GPU ({}.{}), which runs its own code and older one; take "
               "{} or less",
               kernel.architecture, architecture / 10, architecture % 10, architecture));
  }
  return {.source = kernel_source(kernel.file),
          .file = kernel.file,
          .kernel = kernel.kernel,
          .architecture = architecture,
          .older_architecture = kernel.architecture,
          .registers = kernel.registers,
          .fast_math = kernel.fast_math,
          .optimize = kernel.optimize,
          .bound_threads = kernel.min_blocks > 0 ? threads_in_block(kernel) : 0,
          .min_blocks = kernel.min_blocks};
}

void check_arguments(const CudaKernel& kernel, const CompileRequest& request,
                     const CompiledKernel& compiled) {
  const std::vector<std::size_t>& sizes = compiled.parameter_sizes;
  check_kinds(kernel.kernel, find_kernels(kernels_in(request.source, request.file), kernel.kernel), kernel);
  for (std::size_t i = 0; i < std::min(sizes.size(), kernel.arguments.size()); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    if (sizes[i] == size_of(argument)) continue;
    refuse(kernel.kernel, fmt::format("parameter {} takes {} bytes, and {} has {}; {}", i + 1, sizes[i],
                                      argument.name, size_of(argument), how_to_give(sizes[i])));
  }
  if (sizes.size() != kernel.arguments.size())
    refuse_count(kernel.kernel, sizes.size(), kernel.arguments.size());
}

void check_source(const CudaKernel& kernel, const CompileRequest& request) {
  const SourceKernels all = kernels_in(request.source, request.file);
  check_text(kernel.kernel, all, kernel, request);
  if (!kernel.reference.empty()) check_text(kernel.reference, all, kernel, request);
}

}  // namespace jitterscope
