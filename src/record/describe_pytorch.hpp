// PyTorch's layers beside jitterscope's, as they stand in a file.
#pragma once

#include "record/describe_result.hpp"
#include "record/records.hpp"

namespace jitterscope {

std::string_view to_string(Verdict);
constexpr auto enumerators(Verdict) { return std::array{Verdict::equal, Verdict::differs, Verdict::unknown}; }

inline ComparedLayer blank(std::type_identity<ComparedLayer>) {
  return {.reference = {.operation = Operation{Spin{}}, .name = {}, .engine = {}, .kernels = {}, .time = {}},
          .here = {},
          .time_ratio = {}};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ComparedLayer>& layer) {
  auto& reference = layer.reference;
  fields("operation", reference.operation);
  fields("name", reference.name);
  fields("count", reference.count);
  fields.derived("provider", layer.here.provider);
  fields("engine", layer.engine);
  fields("pytorch_engine", reference.engine);
  fields.derived("engine_here", layer.here.algorithm);
  fields("kernels", layer.kernels);
  fields("pytorch_kernels", reference.kernels);
  fields.derived("kernels_here", layer.here.kernels);
  fields("pytorch_seconds", reference.time);
  fields("time_ratio", layer.time_ratio);
  fields.derived("failure", layer.here.failure);
  fields("here", layer.here);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, PytorchRecord>& record) {
  auto& comparison = record.comparison;
  fields("model", comparison.model);
  fields("torch", comparison.torch);
  fields("pytorch_cudnn", comparison.cudnn);
  fields.derived("equal", comparison.is_equal());
  fields("recorded_gpu_seconds", comparison.recorded_gpu_time);
  fields("without_plans", comparison.without_plans);
  fields("layers", comparison.layers);
  fields("not_compared", comparison.not_compared);
}

}  // namespace jitterscope
