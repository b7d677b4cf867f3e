// What each kind of operation brings: how its parameters are read, checked and printed, what it computes
// with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/operation.hpp"
#include "operation/parameter_reader.hpp"
#include "operation/parameter_writer.hpp"

namespace jitterscope::kinds {

/// One word before the colon.
struct Kind {
  OperationHelp help;
  Operation::Parameters (*read)(const ParameterReader&);
};
/// All, in the order in which they are listed.
const std::vector<Kind>& all();

Kind conv2d();
Kind matmul();
Kind linear();
Kind attention();
Kind batch_norm();
Kind layer_norm();
std::vector<Kind> pools();
std::vector<Kind> softmaxes();
Kind bias_add();
Kind convert();
Kind embedding();
std::vector<Kind> optimizer_steps();
Kind copy();
std::vector<Kind> elementwise();
Kind spin();
Kind aten();
Kind cuda_kernel();
Kind chain();
Kind allocation();

std::string_view name(const Conv2d&);
std::string_view name(const Matmul&);
std::string_view name(const Linear&);
std::string_view name(const Copy&);
std::string_view name(const Elementwise&);
std::string_view name(const Spin&);
std::string_view name(const Aten&);
std::string_view name(const CudaKernel&);
std::string_view name(const Allocation&);
std::string_view name(const BatchNorm&);
std::string_view name(const Pool2d&);
std::string_view name(const Softmax&);
std::string_view name(const LayerNorm&);
std::string_view name(const BiasAdd&);
std::string_view name(const Convert&);
std::string_view name(const Embedding&);
std::string_view name(const OptimizerStep&);
std::string_view name(const Attention&);
std::string_view name(const Chain&);

/// Throws UsageError where the shape is impossible. The total of the operands is checked apart.
void check(const Conv2d&);
void check(const Matmul&);
void check(const Linear&);
void check(const Copy&);
void check(const Elementwise&);
void check(const Spin&);
void check(const Aten&);
void check(const CudaKernel&);
void check(const Allocation&);

/// One of all that are equal, so that equal operations print equally.
void normalize(Aten&);
void normalize(CudaKernel&);
void normalize(Convert&);
void check(const BatchNorm&);
void check(const Pool2d&);
void check(const Softmax&);
void check(const LayerNorm&);
void check(const BiasAdd&);
void check(const Convert&);
void check(const Embedding&);
void check(const OptimizerStep&);
void check(const Attention&);
void check(const Chain&);

/// In the order of the normal form.
void write(const Conv2d&, ParameterWriter&);
void write(const Matmul&, ParameterWriter&);
void write(const Linear&, ParameterWriter&);
void write(const Copy&, ParameterWriter&);
void write(const Elementwise&, ParameterWriter&);
void write(const Spin&, ParameterWriter&);
void write(const BatchNorm&, ParameterWriter&);
void write(const Pool2d&, ParameterWriter&);
void write(const Softmax&, ParameterWriter&);
void write(const LayerNorm&, ParameterWriter&);
void write(const BiasAdd&, ParameterWriter&);
void write(const Convert&, ParameterWriter&);
void write(const Embedding&, ParameterWriter&);
void write(const OptimizerStep&, ParameterWriter&);
void write(const Attention&, ParameterWriter&);
void write(const Chain&, ParameterWriter&);
void write(const Allocation&, ParameterWriter&);

double flops(const Conv2d&);
double flops(const Matmul&);
double flops(const Linear&);
double flops(const Copy&);
double flops(const Elementwise&);
double flops(const Spin&);
double flops(const Aten&);
double flops(const CudaKernel&);
double flops(const Allocation&);

Bytes bytes(const Aten&);
Bytes bytes(const Chain&);
double flops(const BatchNorm&);
double flops(const Pool2d&);
double flops(const Softmax&);
double flops(const LayerNorm&);
double flops(const BiasAdd&);
double flops(const Convert&);
double flops(const Embedding&);
double flops(const OptimizerStep&);
double flops(const Attention&);
double flops(const Chain&);

std::vector<Operand> operands(const Conv2d&);
std::vector<Operand> operands(const Matmul&);
std::vector<Operand> operands(const Linear&);
std::vector<Operand> operands(const Copy&);
std::vector<Operand> operands(const Elementwise&);
std::vector<Operand> operands(const Spin&);
std::vector<Operand> operands(const Aten&);
std::vector<Operand> operands(const CudaKernel&);
std::vector<Operand> operands(const Allocation&);
std::vector<Operand> operands(const BatchNorm&);
std::vector<Operand> operands(const Pool2d&);
std::vector<Operand> operands(const Softmax&);
std::vector<Operand> operands(const LayerNorm&);
std::vector<Operand> operands(const BiasAdd&);
std::vector<Operand> operands(const Convert&);
std::vector<Operand> operands(const Embedding&);
std::vector<Operand> operands(const OptimizerStep&);
std::vector<Operand> operands(const Attention&);
std::vector<Operand> operands(const Chain&);

}  // namespace jitterscope::kinds
