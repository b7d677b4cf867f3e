#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

std::string_view amount_name(const Spin& spin) {
  return spin.unit == Spin::Unit::nanoseconds ? "ns" : "cycles";
}

Operation::Parameters read_spin(const ParameterReader& reader) {
  Spin spin;
  if (reader.has("ns") && reader.has("cycles")) reader.fail("ns and cycles are both given; give one of them");
  if (!reader.has("ns") && !reader.has("cycles")) reader.fail_missing("ns (or cycles)");
  if (reader.has("cycles")) spin.unit = Spin::Unit::cycles;
  reader.read(amount_name(spin), spin.amount);
  reader.read("blocks", spin.blocks);
  reader.read("threads", spin.threads);
  return spin;
}

}  // namespace

std::string_view name(const Spin&) { return "spin"; }

void check(const Spin& spin) {
  constexpr std::int64_t kLargestBlock = 1024;  // CUDA's, on every architecture
  // Zero is an empty kernel: the shortest launch there is.
  check_range("spin", amount_name(spin), spin.amount, 0, kLargestDimension);
  check_range("spin", "blocks", spin.blocks, 1, kLargestDimension);
  check_range("spin", "threads", spin.threads, 1, kLargestBlock);
}

void write(const Spin& spin, ParameterWriter& writer) {
  const Spin usual;
  writer.write(amount_name(spin), spin.amount);
  writer.write_unless(usual.blocks, "blocks", spin.blocks);
  writer.write_unless(usual.threads, "threads", spin.threads);
}

double flops(const Spin&) { return 0.0; }

std::vector<Operand> operands(const Spin&) { return {}; }

Kind spin() {
  return {{"spin",
           "waits for a known time or number of cycles: ground truth for the instruments",
           "spin:ns=10000,blocks=132",
           {{"ns", "nanoseconds that each block waits", ""},
            {"cycles", "cycles of the processor's clock, in place of ns", "ns"},
            {"blocks", "blocks of threads", "1"},
            {"threads", "threads in a block, at most 1024", "32"}}},
          read_spin};
}

}  // namespace jitterscope::kinds
