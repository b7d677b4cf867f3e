// The answers of studies to records that name their arms.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "device/open_device.hpp"
#include "jitterscope/error.hpp"
#include "study/study.hpp"

namespace jitterscope::study {

/// Returns the study's answer, with its arms on a GPU that has everything.
inline Sentences answers_to(const std::string& id, const ComparisonRecord& record) {
  const Study& study = find_study(id);
  const std::unique_ptr<Device> device = open_device("virtual:h200");
  DeviceDescription description = device->describe();
  description.capabilities.is_simulated = false;
  description.capabilities.allocators = DeviceCapabilities().allocators;
  description.capabilities.host_memories = DeviceCapabilities().host_memories;
  const Operation subject = parse_sweep(subjects_of(study, description).front()).front();
  const std::vector<Arm> all = study.arms({*device, description, {subject}});
  std::vector<Arm> arms;
  for (const std::string& name : record.alternatives) {
    const auto found = std::ranges::find(all, name, &Arm::name);
    if (found == all.end()) throw UsageError("the study " + id + " has no arm '" + name + "'");
    arms.push_back(*found);
  }
  return answer_of(study, record, arms);
}

}  // namespace jitterscope::study
