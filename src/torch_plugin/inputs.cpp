#include "torch_plugin/inputs.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "operation/aten_text.hpp"
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

// Returns the number of elements from the first to the last that the strides reach.
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

// Its own generator, so that PyTorch's keeps the state that the process gave it.
at::Generator& Inputs::generator(at::Device device) {
  at::Generator& generator = device.is_cpu() ? host_generator_ : device_generator_;
  if (!generator.defined()) {
    // On the host made, not cloned: PyTorch 1.13 never frees a clone there.
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
    // On the host, older versions cannot draw half precision.
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

namespace {

using Kind = AtenArgument::Kind;
using Shape = std::vector<std::int64_t>;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t product(const Shape& sizes, std::size_t from) {
  std::int64_t result = 1;
  for (std::size_t i = from; i < sizes.size(); ++i) result *= sizes[i];
  return result;
}

// Returns an operator's name without aten::.
std::string_view base_name(const Binding& binding) {
  const std::string_view name = binding.schema().name();
  return name.substr(name.find("::") + 2);
}

const Shape* shape_of(const Binding& binding, std::string_view argument) {
  const AtenArgument* found = binding.find(argument);
  return found != nullptr && found->kind == Kind::tensor ? &found->shape : nullptr;
}
std::optional<std::int64_t> integer_of(const Binding& binding, std::string_view argument) {
  const AtenArgument* found = binding.find(argument);
  if (found == nullptr || found->kind != Kind::integer) return std::nullopt;
  return found->integer;
}
Shape integers_of(const Binding& binding, std::string_view argument) {
  Shape result;
  if (const AtenArgument* found = binding.find(argument)) {
    for (const AtenArgument& element : found->elements) result.push_back(element.integer);
  }
  return result;
}

std::optional<std::int64_t> size_along(const Shape& shape, std::int64_t dimension) {
  const auto count = static_cast<std::int64_t>(shape.size());
  if (dimension < 0) dimension += count;
  if (dimension < 0 || dimension >= count) return std::nullopt;
  return shape[static_cast<std::size_t>(dimension)];
}

// Returns the number of rows of the table that an embedding looks into.
std::optional<std::int64_t> table_rows(const Binding& binding) {
  if (const auto rows = integer_of(binding, "num_weights")) return rows;
  const Shape* table = shape_of(binding, "weight");
  if (table == nullptr) table = shape_of(binding, "self");
  return table != nullptr ? size_along(*table, 0) : std::nullopt;
}

// Returns the size of one image: indices of pooling and unpooling are places within it.
std::optional<std::int64_t> plane_size(const Binding& binding) {
  const std::size_t dimensions = contains(base_name(binding), "3d")   ? 3
                                 : contains(base_name(binding), "1d") ? 1
                                                                      : 2;
  if (contains(base_name(binding), "unpool")) return product(integers_of(binding, "output_size"), 0);
  const Shape* image = shape_of(binding, "self");
  if (image == nullptr || image->size() < dimensions) return std::nullopt;
  return product(*image, image->size() - dimensions);
}

// Returns the limit of `index` in gather, scatter, index_select and similar operators.
std::optional<std::int64_t> size_along_dim(const Binding& binding) {
  const auto dimension = integer_of(binding, "dim");
  const Shape* self = shape_of(binding, "self");
  if (self != nullptr) return dimension ? size_along(*self, *dimension) : product(*self, 0);
  for (const char* sizes : {"sizes", "self_sizes", "input_sizes"}) {
    const Shape shape = integers_of(binding, sizes);
    if (!shape.empty() && dimension) return size_along(shape, *dimension);
  }
  return std::nullopt;
}

std::optional<std::int64_t> classes(const Binding& binding) {
  const Shape* self = shape_of(binding, "self");
  return self != nullptr ? size_along(*self, self->size() > 1 ? 1 : 0) : std::nullopt;
}

// Returns the number of places to point at; nullopt if the argument is no known index.
std::optional<std::int64_t> index_limit(const Binding& binding, const std::string& argument,
                                        std::size_t position) {
  const std::string_view name = base_name(binding);
  if (argument == "indices" && contains(name, "embedding")) return table_rows(binding);
  if (argument == "indices" && contains(name, "pool")) return plane_size(binding);
  if (argument == "indices" && binding.find("indices")->kind == Kind::list) {
    const Shape* self = shape_of(binding, "self");
    return self != nullptr ? size_along(*self, static_cast<std::int64_t>(position)) : std::nullopt;
  }
  if (argument == "index" || argument == "indices") return size_along_dim(binding);
  const bool is_loss =
      contains(name, "nll_loss") || contains(name, "cross_entropy") || contains(name, "multi_margin");
  if (argument == "target" && is_loss) return classes(binding);
  if (argument == "self" && name == "one_hot") return integer_of(binding, "num_classes");
  return std::nullopt;
}

}  // namespace

RealValues real_values(const Binding& binding, const std::string& argument) {
  const std::string_view name = base_name(binding);
  const bool draws = is_one_of(name, {"multinomial", "bernoulli", "bernoulli_"});
  if (draws && is_one_of(argument, {"self", "p"})) return RealValues::probabilities;
  if (contains(name, "binary_cross_entropy") && !contains(name, "with_logits") &&
      is_one_of(argument, {"self", "target"}))
    return RealValues::probabilities;
  const bool is_variance =
      is_one_of(argument, {"running_var", "var", "save_var", "save_invstd", "invstd", "rstd"});
  if (is_variance || (name == "poisson" && argument == "self")) return RealValues::positive;
  return RealValues::any;
}

IntegerValues integer_values(const Binding& binding, const std::string& argument, std::size_t position) {
  if (const auto limit = index_limit(binding, argument, position))
    return {0, std::max<std::int64_t>(0, *limit - 1)};
  // Numbers to calculate with start at 1, since integers may be divided by them.
  if (is_one_of(argument, {"self", "other", "input", "tensors", "tensor", "src", "source", "value", "values",
                           "exponent", "tensor1", "tensor2", "mat2"}))
    return {1, 8};
  return {};
}

namespace {

constexpr std::string_view kGradient = "_with_indices_backward", kBackward = "_backward";

}  // namespace

void point_at_maxima(const Binding& binding, const Inputs& inputs, torch::jit::Stack& arguments) {
  const std::string& name = binding.schema().name();
  if (!name.ends_with(kGradient)) return;
  const auto pooling =
      c10::Dispatcher::singleton().findSchema({name.substr(0, name.size() - kBackward.size()), ""});
  const auto indices = place_of(binding.schema(), "indices");
  if (!pooling || !indices || inputs.was_filled(arguments[*indices].toTensor())) return;
  torch::jit::Stack stack;
  for (const c10::Argument& argument : pooling->schema().arguments()) {
    const auto place = place_of(binding.schema(), argument.name());
    if (!place) return;
    stack.push_back(arguments[*place]);
  }
  pooling->callBoxed(&stack);
  arguments[*indices].toTensor().copy_(stack.back().toTensor());
}

}  // namespace jitterscope::torch_plugin
