// Layout. Varies how tensors of images are stored. Reports the time of each layer, and of all. Can go wrong:
// a layer that wants the other layout at a border costs a conversion, which these times do not hold.
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

template <class Change>
bool change_layout(Operation::Parameters& parameters, const Change& change) {
  return std::visit(
      [&](auto& shape) {
        using Shape = std::decay_t<decltype(shape)>;
        if constexpr (std::is_same_v<Shape, Conv2d> || std::is_same_v<Shape, Pool2d> ||
                      std::is_same_v<Shape, BatchNorm> || std::is_same_v<Shape, BiasAdd>) {
          change(shape.layout);
          return true;
        }
        return false;
      },
      parameters);
}

bool has_layout(const Operation& operation) {
  Operation::Parameters parameters = operation.parameters();
  return change_layout(parameters, [](Layout&) {});
}

Layout layout_of(const Operation& operation) {
  Operation::Parameters parameters = operation.parameters();
  Layout found = Layout::nchw;
  change_layout(parameters, [&](Layout layout) { found = layout; });
  return found;
}

Arm layout_arm(Layout layout) {
  return {std::string(to_string(layout)), [layout](Trial& trial) {
            Operation::Parameters parameters = trial.operation.parameters();
            change_layout(parameters, [layout](Layout& own) { own = layout; });
            trial.operation = Operation(parameters);
          }};
}

std::vector<Arm> layout_arms(const StudyContext& context) {
  const Layout own = layout_of(context.operations.front());
  return {layout_arm(own), layout_arm(own == Layout::nchw ? Layout::nhwc : Layout::nchw)};
}

std::string layout_subject(const DeviceDescription& device) {
  return device.capabilities.is_host ? "conv2d:n=1,c=64,hw=56,k=64,rs=3,pad=1"
                                     : "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16";
}

Remedy layout_remedy(const std::string& arm) {
  const std::string format = arm == "nhwc" ? "torch.channels_last" : "torch.contiguous_format";
  return {
      {"model = model.to(memory_format=" + format + ")", "batch = batch.to(memory_format=" + format + ")"},
      "Where a layer wants the other layout, converting costs a copy, which is not in these times."};
}

std::vector<std::string> layout_answer(const ComparisonRecord& record) {
  return answer_by_fastest(record, layout_remedy);
}

}  // namespace

Study layout() {
  return {.id = "layout",
          .question = "Which layout of images is faster: NCHW, or NHWC (channels last)?",
          .concerns = "convolutions, pooling, batch normalization and bias additions",
          .subject = layout_subject,
          .can_be_asked_of = has_layout,
          .arms = layout_arms,
          .remedy = layout_remedy,
          .answer = layout_answer};
}

}  // namespace jitterscope::study::studies
