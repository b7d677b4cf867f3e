// Whether an operation computes what it should.
#pragma once

#include <optional>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Largest relative L2 error that passes: what rounding inputs and products to the type gives, with room
/// for sums in another order. f64 1e-12, f32 1e-5, tf32 1e-3, f16 2e-3, bf16 1e-2.
double verification_tolerance(DataType);

/// Poisons the outputs, launches once and compares each with a float64 reference computed from the operands
/// as they are on the device; the error is that of the output nearest to its limit, and indices must be
/// exact. Of large products and convolutions random elements are compared (about 4e7 multiply-adds in all),
/// of other operations all; all outputs are searched for poison. Where the reference is the same code,
/// Verification::same_formula says so. Spin has nothing to compare: throws UsageError.
Verification verify(Queue& queue, PreparedOperation& prepared);

/// About how long that takes on one core, most of it for reading and converting large operands; nothing of
/// what has no reference.
Nanoseconds verification_time(const Operation&);

/// The same where `inputs` is the same work in another data type: the reference is computed from its inputs,
/// so that the error is also that of rounding them, and the coarser type's limit counts. An index may be that
/// of a close second then, and is not compared.
Verification verify(Queue& queue, PreparedOperation& prepared, PreparedOperation& inputs);

/// Of a kernel of the user's: launches it, and the one that it names as its reference, once on fresh
/// operands, and compares all that it writes, an inout as well; the reference is compiled without the options
/// that change results. Nothing where none is named, or where kernels are only simulated.
std::optional<Verification> verify_by_reference(Device& device, Queue& queue, const Operation& kernel,
                                                const InputData& data);

/// Of a kernel that names no reference: compares what it writes with what `first` does, the kernel that it is
/// measured beside. Nothing unless both are of one file and get the same arguments, or where they are one
/// kernel launched in one way.
std::optional<Verification> verify_by_first(Device& device, Queue& queue, const Operation& kernel,
                                            const Operation& first, const InputData& data);

/// Whether they differ in nothing but the data type, in which engine runs them, and in conversions of types
/// in front of `operation` and behind it.
bool is_same_work(const Operation& operation, const Operation& other);

}  // namespace jitterscope
