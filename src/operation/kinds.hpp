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
Kind copy();
Kind fill();
Kind add();
Kind relu();
Kind spin();
Kind aten();

std::string_view name(const Conv2d&);
std::string_view name(const Matmul&);
std::string_view name(const Linear&);
std::string_view name(const Copy&);
std::string_view name(const Elementwise&);
std::string_view name(const Spin&);
std::string_view name(const Aten&);

/// Throws UsageError where the shape is impossible. The total of the operands is checked apart.
void check(const Conv2d&);
void check(const Matmul&);
void check(const Linear&);
void check(const Copy&);
void check(const Elementwise&);
void check(const Spin&);
void check(const Aten&);

/// One of all that are equal, so that equal operations print equally.
void normalize(Aten&);

/// In the order of the normal form.
void write(const Conv2d&, ParameterWriter&);
void write(const Matmul&, ParameterWriter&);
void write(const Linear&, ParameterWriter&);
void write(const Copy&, ParameterWriter&);
void write(const Elementwise&, ParameterWriter&);
void write(const Spin&, ParameterWriter&);

double flops(const Conv2d&);
double flops(const Matmul&);
double flops(const Linear&);
double flops(const Copy&);
double flops(const Elementwise&);
double flops(const Spin&);
double flops(const Aten&);

Bytes bytes(const Aten&);

std::vector<Operand> operands(const Conv2d&);
std::vector<Operand> operands(const Matmul&);
std::vector<Operand> operands(const Linear&);
std::vector<Operand> operands(const Copy&);
std::vector<Operand> operands(const Elementwise&);
std::vector<Operand> operands(const Spin&);
std::vector<Operand> operands(const Aten&);

}  // namespace jitterscope::kinds
