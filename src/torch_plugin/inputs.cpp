#include "torch_plugin/inputs.hpp"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>

#include "operation/aten_text.hpp"
#include "torch_plugin/input_values.hpp"
#include "torch_plugin/refusal.hpp"

namespace jitterscope::torch_plugin {
namespace {

struct ElementType {
  std::string_view name;
  at::ScalarType type;
};
constexpr ElementType kElementTypes[] = {
    {"f64", at::kDouble}, {"f32", at::kFloat}, {"f16", at::kHalf},         {"bf16", at::kBFloat16},
    {"i64", at::kLong},   {"i32", at::kInt},   {"i16", at::kShort},        {"i8", at::kChar},
    {"u8", at::kByte},    {"bool", at::kBool}, {"c64", at::kComplexFloat}, {"c128", at::kComplexDouble},
};

at::ScalarType scalar_type(std::string_view name) {
  name = name.substr(0, name.find('@'));
  for (const ElementType& known : kElementTypes) {
    if (known.name == name) return known.type;
  }
  throw Refusal(JITTERSCOPE_TORCH_USAGE, "no element type " + std::string(name));
}

// Elements from the first to the last, as the strides reach.
std::int64_t extent_of(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides) {
  std::int64_t extent = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    extent += (shape[i] - 1) * strides[i];
  }
  return extent;
}

bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

}  // namespace

Inputs::Inputs(at::Device device, const std::string& data_kind, std::uint64_t seed,
               std::vector<JitterscopeTorchGiven> given)
    : device_(device), data_kind_(data_kind), seed_(seed), given_(std::move(given)) {
  for (const char* known : {"normal", "uniform", "zeros", "ones", "sparse"}) {
    if (data_kind == known) return;
  }
  throw Refusal(JITTERSCOPE_TORCH_USAGE, "PyTorch's inputs cannot be " + data_kind);
}

// Not PyTorch's own: that one's state stays as the process has it.
at::Generator& Inputs::generator(at::Device device) {
  at::Generator& generator = device.is_cpu() ? host_generator_ : device_generator_;
  if (!generator.defined()) {
    // Made, not cloned, on the host: a clone is never freed there by PyTorch 1.13.
    generator = device.is_cpu() ? at::make_generator<at::CPUGeneratorImpl>()
                                : at::globalContext().defaultGenerator(device).clone();
    generator.set_current_seed(seed_);
  }
  return generator;
}

at::Tensor Inputs::make(const Binding& binding, const std::string& argument, const AtenArgument& recorded,
                        std::size_t position) {
  const at::Device device = is_aten_host_type(recorded.text) ? at::Device(at::kCPU) : device_;
  const auto strides = recorded.strides.empty() ? dense_strides(recorded.shape) : recorded.strides;
  const at::TensorOptions options = at::TensorOptions(scalar_type(recorded.text)).device(device);
  const std::int64_t extent = extent_of(recorded.shape, strides);
  const auto given =
      stored_.size() < given_.size() ? given_[stored_.size()] : JitterscopeTorchGiven{nullptr, 0};
  at::Tensor stored = given.address != nullptr ? at::from_blob(given.address, {extent}, options)
                                               : at::empty({extent}, options);
  if (given.is_filled == 0) fill(stored, binding, argument, position);
  stored_.push_back(stored);
  return stored.as_strided(recorded.shape, strides);
}

bool Inputs::was_filled(const at::Tensor& tensor) const {
  return std::any_of(given_.begin(), given_.end(), [&](const JitterscopeTorchGiven& given) {
    return given.is_filled != 0 && given.address == tensor.data_ptr();
  });
}

void Inputs::fill(at::Tensor& tensor, const Binding& binding, const std::string& argument,
                  std::size_t position) {
  const at::ScalarType type = tensor.scalar_type();
  if (type == at::kBool) {
    tensor.random_(0, 2, generator(tensor.device()));
  } else if (c10::isIntegralType(type, false)) {
    const IntegerValues values = integer_values(binding, argument, position);
    const std::int64_t end = type == at::kChar || type == at::kByte
                                 ? std::min<std::int64_t>(values.highest + 1, 127)
                                 : values.highest + 1;
    tensor.random_(values.lowest, end, generator(tensor.device()));
  } else if (tensor.device().is_cpu() && is_half(type)) {
    // The host of older versions draws no half precision.
    at::Tensor single = at::empty(tensor.sizes(), tensor.options().dtype(at::kFloat));
    fill_real(single, binding, argument);
    tensor.copy_(single);
  } else {
    fill_real(tensor, binding, argument);
  }
}

void Inputs::fill_real(at::Tensor& tensor, const Binding& binding, const std::string& argument) {
  at::Generator& random = generator(tensor.device());
  const RealValues values = real_values(binding, argument);
  if (values == RealValues::probabilities) {
    tensor.uniform_(0.0, 1.0, random);
  } else if (values == RealValues::positive) {
    tensor.uniform_(0.5, 1.5, random);
  } else if (data_kind_ == "zeros" || data_kind_ == "ones") {
    tensor.fill_(data_kind_ == "ones" ? 1.0 : 0.0);
  } else if (data_kind_ == "uniform" && !tensor.is_complex()) {
    tensor.uniform_(-1.0, 1.0, random);
  } else {
    tensor.normal_(0.0, 1.0, random);
    if (data_kind_ == "sparse") tensor.mul_(at::empty_like(tensor).bernoulli_(0.5, random));
  }
}

void Inputs::produce() {
  const at::Scalar one = true;  // every type can hold the product with it; with an integer, bool could not
  for (at::Tensor& tensor : stored_) {
    if (tensor.device() == device_) tensor.mul_(one);
  }
}

}  // namespace jitterscope::torch_plugin
