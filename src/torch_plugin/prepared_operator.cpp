#include "torch_plugin/prepared_operator.hpp"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "torch_plugin/binding.hpp"
#include "torch_plugin/inputs.hpp"
#include "torch_plugin/refusal.hpp"

namespace jitterscope::torch_plugin {
namespace {

// Calls kernels as a running model does: below autograd, which records nothing.
struct KernelMode {
  at::NoGradGuard no_gradients;
  at::AutoDispatchBelowAutograd below_autograd;
};

void collect(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor() && value.toTensor().defined()) {
    tensors.push_back(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) tensors.push_back(tensor);
  } else if (value.isTuple()) {
    for (const c10::IValue& element : value.toTupleRef().elements()) collect(element, tensors);
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) collect(element, tensors);
  }
}

std::vector<at::Tensor> tensors_of(const torch::jit::Stack& stack) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : stack) collect(value, tensors);
  return tensors;
}

bool has_shape(const at::Tensor& tensor, const AtenArgument& recorded) {
  return tensor.sizes().equals(recorded.shape) &&
         (recorded.strides.empty() || tensor.strides().equals(recorded.strides));
}

// `data` is const only in newer versions.
void* address_of(const void* data) { return const_cast<void*>(data); }

}  // namespace

PreparedOperator::PreparedOperator(Aten aten, at::Device device, const JitterscopeTorchRequest& request)
    : aten_(std::move(aten)),
      binding_(aten_),
      schema_name_(full_name(binding_.schema().operator_name())),
      pool_(device),
      stream_(request.stream) {
  const KernelMode mode;
  const DeviceScope scope(pool_, stream_);
  make_inputs(request);
  warm_up();
  if (inputs_changed_shape()) {
    make_inputs(request);
    fresh_views_ = true;
    call();
  }
  scope.wait();
}

void PreparedOperator::make_inputs(const JitterscopeTorchRequest& request) {
  inputs_ = std::make_unique<Inputs>(
      pool_.device(), request.data_kind, request.seed,
      std::vector<JitterscopeTorchGiven>(request.given, request.given + request.given_count));
  arguments_.clear();
  for (std::size_t i = 0; i < binding_.arguments().size(); ++i) {
    const c10::Argument& expected = binding_.schema().arguments()[i];
    const AtenArgument* recorded = binding_.arguments()[i];
    const TensorMaker make_tensor = [&](const AtenArgument& tensor, std::size_t position) {
      return inputs_->make(binding_, expected.name(), tensor, position);
    };
    arguments_.push_back(recorded == nullptr ? *expected.default_value()
                                             : to_ivalue(expected, *recorded, pool_.device(), make_tensor));
  }
  point_at_maxima(binding_, *inputs_, arguments_);
}

// Runs twice: the second run finds the allocator's memory and the libraries' workspaces in place.
void PreparedOperator::warm_up() {
  try {
    const RefuseToWait refuse(pool_.device());
    call();
  } catch (const std::exception& error) {
    if (std::string_view(error.what()).find("synchronizing CUDA operation") == std::string_view::npos) throw;
    waits_ = true;
    call();
  }
  call();
}

void PreparedOperator::call() {
  // The former outputs are freed first, so that the new ones take their place, as in a Python loop.
  stack_.clear();
  for (const c10::IValue& argument : arguments_) {
    const bool view = fresh_views_ && argument.isTensor() && argument.toTensor().defined();
    stack_.push_back(view ? c10::IValue(argument.toTensor().detach()) : argument);
  }
  binding_.handle().callBoxed(&stack_);
}

// resize_, squeeze_, t_ and others change their argument, so each run would find another one.
bool PreparedOperator::inputs_changed_shape() const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const AtenArgument* recorded = binding_.arguments()[i];
    if (recorded == nullptr || recorded->kind != AtenArgument::Kind::tensor) continue;
    if (!has_shape(arguments_[i].toTensor(), *recorded)) return true;
  }
  return false;
}

void PreparedOperator::run(void* stream) {
  const KernelMode mode;
  const DeviceScope scope(pool_, stream);
  const bool recording = scope.is_recording();
  if (recording && (waits_ || !JITTERSCOPE_TORCH_POOLS)) {
    throw Refusal(JITTERSCOPE_TORCH_USAGE,
                  schema_name_ + " cannot be recorded: " +
                      (waits_ ? "it waits for the GPU" : "that needs PyTorch 2.2 or newer") +
                      "; time it without recordings");
  }
  try {
    call();
  } catch (const c10::Error& error) {
    if (!recording) throw;
    throw Refusal(JITTERSCOPE_TORCH_USAGE,
                  schema_name_ + " cannot be recorded: " + error.what_without_backtrace());
  }
}

void PreparedOperator::produce_inputs(void* stream) {
  const KernelMode mode;
  const DeviceScope scope(pool_, stream);
  inputs_->produce();
}

std::vector<JitterscopeTorchRegion> PreparedOperator::memory() const {
  std::vector<JitterscopeTorchRegion> regions;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.device() != pool_.device() || !tensor.has_storage() || tensor.storage().nbytes() == 0) return;
    void* const address = address_of(tensor.storage().data());
    const auto is_known = [&](const JitterscopeTorchRegion& region) { return region.address == address; };
    if (std::any_of(regions.begin(), regions.end(), is_known)) return;
    regions.push_back({address, static_cast<std::int64_t>(tensor.storage().nbytes())});
  };
  for (const at::Tensor& tensor : inputs_->stored()) add(tensor);
  for (const at::Tensor& tensor : outputs()) add(tensor);
  return regions;
}

std::vector<JitterscopeTorchRegion> PreparedOperator::operands() const {
  std::vector<JitterscopeTorchRegion> regions;
  const auto add = [&](const at::Tensor& tensor, bool stays) {
    const bool has_address = stays && tensor.device() == pool_.device() && tensor.has_storage() &&
                             tensor.is_non_overlapping_and_dense();
    const auto bytes =
        static_cast<std::int64_t>(tensor.numel()) * static_cast<std::int64_t>(tensor.element_size());
    regions.push_back({has_address ? address_of(tensor.data_ptr()) : nullptr, bytes});
  };
  for (const at::Tensor& tensor : inputs_->stored()) add(tensor, true);
  // The pool gives the same requests the same memory and keeps it, unless the size depends on the data.
  const bool outputs_stay = JITTERSCOPE_TORCH_POOLS && pool_.device().is_cuda() && !waits_;
  for (const at::Tensor& tensor : outputs()) add(tensor, outputs_stay);
  return regions;
}

std::vector<at::Tensor> PreparedOperator::outputs() const { return tensors_of(stack_); }

std::vector<double> PreparedOperator::read_output(std::size_t index) {
  const KernelMode mode;
  const DeviceScope scope(pool_, stream_);
  at::Tensor tensor = outputs().at(index);
  if (tensor.is_complex()) tensor = at::real(tensor);
  tensor = tensor.to(at::kCPU).to(at::kDouble).contiguous();
  const double* const elements = tensor.data_ptr<double>();
  return {elements, elements + tensor.numel()};
}

}  // namespace jitterscope::torch_plugin
