// Verifies that an operation computes what it should.
#pragma once

#include <optional>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Returns the largest relative L2 error that passes: the rounding of inputs and products to the type, with
/// room for sums in another order. f64 1e-12, f32 1e-5, tf32 1e-3, f16 2e-3, bf16 1e-2.
double verification_tolerance(DataType);

/// Poisons the outputs, launches once, and compares each with a float64 reference computed from the operands
/// on the device. The error is that of the output nearest to its limit; indices must be exact. Large products
/// and convolutions are compared at reference_sample(), other operations completely; all outputs are searched
/// for poison. Verification::same_formula tells if the reference is the
/// same code. A rank of a collective computes what it must get from the seeds of all, and each element that
/// is not that counts as wrong. Throws UsageError for spin, which has nothing to compare.
Verification verify(Queue& queue, PreparedOperation& prepared);

/// Returns the approximate time of verifying on one core, mostly for reading and converting large operands; 0
/// if the operation has no reference.
Nanoseconds verification_time(const Operation&);

/// The operations whose results are compared in place of those of large ones, on a simulated GPU.
struct VerifiedParts {
  Operation own, inputs;
};
/// Returns parts of an operation, and of the same work that gives its inputs, that are verified in
/// milliseconds: fewer samples and channels, each result from as many terms. A simulated GPU's results are
/// the reference's own, rounded to the type: what rounding does shows in any thousand of them, and nothing
/// else can. A chain over several streams stays whole, as a step may read too early there. A chain is cut
/// into samples alone; `beside_chains` does the same to other operations, so that errors are of the same
/// results.
VerifiedParts verified_parts(const Operation& own, const Operation& inputs, bool beside_chains = false);
/// Returns the time of verifying what is verified of an operation on this device.
Nanoseconds verification_time(const Operation&, const DeviceDescription&);

/// The same, with a reference computed from `inputs`, the same work in another data type: the error includes
/// rounding these inputs, and the coarser type's limit counts. Indices are not compared, since one may then
/// belong to a close second.
Verification verify(Queue& queue, PreparedOperation& prepared, PreparedOperation& inputs);

/// Launches a user's kernel and its named reference once each on fresh operands, and compares everything that
/// it writes, inouts as well. The reference is compiled without options that change results. nullopt if none
/// is named, or if kernels are only simulated.
std::optional<Verification> verify_by_reference(Device& device, Queue& queue, const Operation& kernel,
                                                const InputData& data);

/// Compares what a kernel without a reference writes with what `first` writes, the kernel that it is measured
/// beside. nullopt unless both are from one file with equal arguments, or if both are one kernel launched in
/// one way.
std::optional<Verification> verify_by_first(Device& device, Queue& queue, const Operation& kernel,
                                            const Operation& first, const InputData& data);

/// True if they differ only in data type, in engine, and in type conversions before and after `operation`.
bool is_same_work(const Operation& operation, const Operation& other);

}  // namespace jitterscope
