// What training with each scale of the loss gave, as it stands in a file.
#pragma once

#include "record/described.hpp"
#include "record/numbers.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, study::LayerGradients>& layer) {
  fields("name", layer.name);
  fields("underflow", layer.underflow);
  fields("overflow", layer.overflow);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, study::LossScalingArm>& arm) {
  fields("name", arm.name);
  fields("skipped", arm.skipped);
  fields("underflow", arm.underflow);
  fields("overflow", arm.overflow);
  fields("loss", arm.loss);
  fields("step_seconds", arm.step);
  fields("scale", arm.scale);
  fields("layers", arm.layers);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, study::LossScalingRecord>& record) {
  auto& found = record.found;
  fields("model", found.model);
  fields("way", found.way);
  fields("steps", found.steps);
  fields("float32_loss", found.float32_loss);
  fields("float32_step_seconds", found.float32_step);
  fields("arms", found.arms);
  fields.check(!found.arms.empty(), "arms", "one scale or more");
  fields("answers", found.answers);
}

}  // namespace jitterscope
