#include "measure/verify.hpp"

#include <algorithm>
#include <cmath>

#include "jitterscope/error.hpp"
#include "operation/reference.hpp"

namespace jitterscope {

double verification_tolerance(DataType dtype) {
  switch (dtype) {
    case DataType::i64: return 0.0;
    case DataType::f64: return 1e-12;
    case DataType::f32: return 1e-5;
    case DataType::tf32: return 1e-3;
    case DataType::f16: return 2e-3;
    case DataType::bf16: return 1e-2;
  }
  return 0.0;
}

Verification verify(Queue& queue, PreparedOperation& prepared) {
  const Operation& operation = prepared.operation();
  const std::vector<Operand> operands = operation.operands();
  if (operands.empty()) throw UsageError(operation.text() + ": there is no output to verify");
  prepared.poison_outputs();
  queue.launch(prepared);
  queue.wait();
  std::vector<std::vector<double>> inputs;
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) inputs.push_back(prepared.read_operand(i));
  const std::vector<double> output = prepared.read_operand(operands.size() - 1);

  Verification result;
  result.tolerance = verification_tolerance(operation.dtype());
  result.total = std::ssize(output);
  result.unwritten =
      std::count_if(output.begin(), output.end(), [](double value) { return std::isnan(value); });
  double difference = 0.0, norm = 0.0;
  for (const std::int64_t index : reference_sample(operation)) {
    const double expected = reference_element(operation, inputs, index);
    const double error = output[static_cast<std::size_t>(index)] - expected;
    difference += error * error;
    norm += expected * expected;
    ++result.checked;
  }
  // An expected output of zeros only (relu of zeros) has no relative error: the difference itself counts.
  result.relative_error = std::sqrt(difference / (norm > 0.0 ? norm : 1.0));
  result.passed = result.unwritten == 0 && result.relative_error <= result.tolerance;
  return result;
}

}  // namespace jitterscope
