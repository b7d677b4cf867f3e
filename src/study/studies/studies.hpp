// One file for each study; here is what they have in common.
#pragma once

#include <functional>
#include <string>

#include "jitterscope/operation.hpp"
#include "study/study.hpp"

namespace jitterscope::study::studies {

Study layout();
Study precision();
Study engine();
Study batch();
Study graph();
Study pinned();
Study compiler();
Study occupancy();
Study streams();
Study overlap();
Study dependencies();
Study synchronization();
Study priorities();
Study tiling();
Study waves();
Study access();
Study hierarchy();
Study allocator();
Study fragmentation();
Study fusion();

// What the studies share that put several launches on the device as one.

/// Throws UsageError where the device runs one launch after the other.
void require_streams(const StudyContext& context);

/// Whether it can be a step of a chain whose launches return before their work is done.
bool can_be_step(const Operation& operation);

/// The work as a chain that is made of it.
Arm chain_arm(std::string name, Instrument instrument, std::function<Chain(const Operation&)> make);

/// Of the first conditions, that of an arm; null where it has no time.
const Comparison* comparison_with(const ComparisonRecord& record, const std::string& arm);

/// What the second side takes longer than the first one.
Nanoseconds added_time(const Comparison& comparison);

}  // namespace jitterscope::study::studies

// The number of samples that a launch takes.

namespace jitterscope::study {

/// Null where that is none of its parameters: a product of weights, a step of an optimizer.
std::int64_t* batch_of(Operation::Parameters& parameters);

bool has_batch(const Operation&);
/// As one launch of so many times the samples; it has a batch.
Operation with_larger_batch(const Operation&, std::int64_t factor);

}  // namespace jitterscope::study
