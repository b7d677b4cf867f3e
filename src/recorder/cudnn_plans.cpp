#include "recorder/cudnn_plans.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

namespace jitterscope::recorder {

using capture::OperandUse;

namespace {

// A slot in a window of a table that a key may be in, or null. Slots are freed in any order, so that all are
// looked at.
template <std::size_t kWindow, class Slots>
auto* slot_of(Slots& slots, cudnn::Descriptor key) noexcept {
  const auto bits = reinterpret_cast<std::uintptr_t>(key) * 0x9E3779B97F4A7C15ULL;
  const std::size_t first = static_cast<std::size_t>(bits >> 32) % slots.size();
  for (std::size_t i = 0; i < kWindow; ++i) {
    auto& slot = slots[(first + i) % slots.size()];
    if (slot.key.load(std::memory_order_acquire) == key) return &slot;
  }
  return static_cast<typename Slots::value_type*>(nullptr);
}
template <std::size_t kWindow, class Slots>
auto* free_slot_of(Slots& slots, cudnn::Descriptor key) noexcept {
  const auto bits = reinterpret_cast<std::uintptr_t>(key) * 0x9E3779B97F4A7C15ULL;
  const std::size_t first = static_cast<std::size_t>(bits >> 32) % slots.size();
  for (std::size_t i = 0; i < kWindow; ++i) {
    auto& slot = slots[(first + i) % slots.size()];
    if (slot.key.load(std::memory_order_acquire) == nullptr) return &slot;
  }
  return static_cast<typename Slots::value_type*>(nullptr);
}

std::string operation_name(int kind) {
  switch (kind) {
    case cudnn::kConvolutionForward: return "CONVOLUTION_FORWARD";
    case cudnn::kConvolutionBackwardFilter: return "CONVOLUTION_BACKWARD_FILTER";
    case cudnn::kConvolutionBackwardData: return "CONVOLUTION_BACKWARD_DATA";
    case 13: return "POINTWISE";
    case 14: return "GEN_STATS";
    case 19: return "MATMUL";
    case 20: return "BN_FINALIZE_STATISTICS";
    case 22: return "REDUCTION";
    case 23: return "BN_BWD_WEIGHTS";
    case 25: return "RESAMPLE_FWD";
    case 26: return "RESAMPLE_BWD";
    case 27: return "CONCAT";
    case 28: return "SIGNAL";
    case 29: return "NORM_FORWARD";
    case 30: return "NORM_BACKWARD";
    case 31: return "RESHAPE";
    case 33: return "RNG";
    case 41: return "SDPA_FWD";
    case 43: return "SDPA_BWD";
    default: return "OPERATION_" + std::to_string(kind);
  }
}

struct TypeName {
  const char* name;
  std::uint64_t bytes;  // of an element; 0: not known
};
TypeName type_name(std::int64_t type) {
  switch (type) {
    case 0: return {"FLOAT", 4};
    case 1: return {"DOUBLE", 8};
    case 2: return {"HALF", 2};
    case 3: return {"INT8", 1};
    case 4: return {"INT32", 4};
    case 6: return {"UINT8", 1};
    case 9: return {"BFLOAT16", 2};
    case 10: return {"INT64", 8};
    case 11: return {"BOOLEAN", 1};
    case 12: return {"FP8_E4M3", 1};
    case 13: return {"FP8_E5M2", 1};
    default: return {"UNKNOWN", 0};
  }
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t number : numbers) text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

// The names of a convolution's attributes in one direction.
struct ConvolutionAttributes {
  int kind;
  int alpha, beta, convolution;
  struct Named {
    int attribute;
    const char* name;
    OperandUse use;
  } tensors[3];
  const char* engine;  // how cudnn-frontend begins its tags
};
constexpr ConvolutionAttributes kConvolutions[] = {{cudnn::kConvolutionForward,
                                                    cudnn::kForwardAlpha,
                                                    cudnn::kForwardBeta,
                                                    cudnn::kForwardConvolution,
                                                    {{cudnn::kForwardX, "x", OperandUse::input},
                                                     {cudnn::kForwardW, "w", OperandUse::input},
                                                     {cudnn::kForwardY, "y", OperandUse::output}},
                                                    "ConvFwd"},
                                                   {cudnn::kConvolutionBackwardData,
                                                    cudnn::kDataAlpha,
                                                    cudnn::kDataBeta,
                                                    cudnn::kDataConvolution,
                                                    {{cudnn::kDataDx, "dx", OperandUse::output},
                                                     {cudnn::kDataW, "w", OperandUse::input},
                                                     {cudnn::kDataDy, "dy", OperandUse::input}},
                                                    "ConvBwdData"},
                                                   {cudnn::kConvolutionBackwardFilter,
                                                    cudnn::kFilterAlpha,
                                                    cudnn::kFilterBeta,
                                                    cudnn::kFilterConvolution,
                                                    {{cudnn::kFilterX, "x", OperandUse::input},
                                                     {cudnn::kFilterDw, "dw", OperandUse::output},
                                                     {cudnn::kFilterDy, "dy", OperandUse::input}},
                                                    "ConvBwdFilter"}};
const ConvolutionAttributes* convolution_of(int kind) {
  const auto* const found =
      std::find_if(std::begin(kConvolutions), std::end(kConvolutions),
                   [&](const ConvolutionAttributes& each) { return each.kind == kind; });
  return found == std::end(kConvolutions) ? nullptr : found;
}

LibraryFunction<cudnn::Create>& create() {
  static LibraryFunction<cudnn::Create> function(Library::cudnn, "cudnnBackendCreateDescriptor");
  return function;
}
LibraryFunction<cudnn::Destroy>& destroy() {
  static LibraryFunction<cudnn::Destroy> function(Library::cudnn, "cudnnBackendDestroyDescriptor");
  return function;
}
LibraryFunction<cudnn::GetAttribute>& get_attribute() {
  static LibraryFunction<cudnn::GetAttribute> function(Library::cudnn, "cudnnBackendGetAttribute");
  return function;
}

// A descriptor of our own, which cuDNN copies into.
class Copy {
 public:
  explicit Copy(int kind) {
    if (create().get() == nullptr || create().get()(kind, &descriptor_) != 0) descriptor_ = nullptr;
  }
  ~Copy() {
    if (descriptor_ != nullptr && destroy().get() != nullptr) destroy().get()(descriptor_);
  }
  Copy(Copy&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  Copy& operator=(Copy&&) = delete;
  cudnn::Descriptor get() const { return descriptor_; }

 private:
  cudnn::Descriptor descriptor_ = nullptr;
};

// How many values an attribute has; at most `most`.
std::int64_t read(cudnn::Descriptor from, int name, int type, std::int64_t most, void* values) {
  std::int64_t count = 0;
  if (get_attribute().get() == nullptr || get_attribute().get()(from, name, type, most, &count, values) != 0)
    return 0;
  return std::min(count, most);
}

}  // namespace

const std::vector<std::shared_ptr<const CudnnPlans::Shadow>>* CudnnPlans::Shadow::parts_of(int name) const {
  const auto found = parts.find(name);
  return found == parts.end() ? nullptr : &found->second;
}

const CudnnPlans::Shadow* CudnnPlans::Shadow::part(int name) const {
  const auto* const found = parts_of(name);
  return found == nullptr || found->empty() ? nullptr : found->front().get();
}

const std::vector<std::int64_t>& CudnnPlans::Shadow::all(int name) const {
  static const std::vector<std::int64_t> kNone;
  const auto found = numbers.find(name);
  return found == numbers.end() ? kNone : found->second;
}

std::int64_t CudnnPlans::Shadow::number(int name, std::int64_t otherwise) const {
  const std::vector<std::int64_t>& found = all(name);
  return found.empty() ? otherwise : found.front();
}

void CudnnPlans::created(cudnn::Descriptor descriptor, int kind) {
  // One that was destroyed unseen may have been here.
  if (Pack* pack = slot_of<kWindow>(packs_, descriptor); pack != nullptr) pack->key.store(nullptr);
  if (Plan* plan = slot_of<kWindow>(plans_, descriptor); plan != nullptr) plan->key.store(nullptr);
  if (kind == cudnn::kVariantPack) return;
  auto shadow = std::make_shared<Shadow>();
  shadow->kind = kind;
  const std::lock_guard lock(mutex_);
  shadows_.insert_or_assign(descriptor, std::move(shadow));
}

void CudnnPlans::destroyed(cudnn::Descriptor descriptor) noexcept {
  if (descriptor == nullptr) return;
  if (Pack* pack = slot_of<kWindow>(packs_, descriptor); pack != nullptr) {
    pack->key.store(nullptr, std::memory_order_release);
    return;
  }
  if (Plan* plan = slot_of<kWindow>(plans_, descriptor); plan != nullptr) plan->key.store(nullptr);
  const std::lock_guard lock(mutex_);
  shadows_.erase(descriptor);
}

void CudnnPlans::set_pack(cudnn::Descriptor descriptor, int name, std::int64_t count,
                          const void* values) noexcept {
  Pack* pack = slot_of<kWindow>(packs_, descriptor);
  while (pack == nullptr) {
    Pack* const free = free_slot_of<kWindow>(packs_, descriptor);
    if (free == nullptr) return;  // its calls have no addresses
    cudnn::Descriptor none = nullptr;
    if (!free->key.compare_exchange_strong(none, descriptor)) continue;
    pack = free;
    pack->ids = pack->pointers = 0;
    pack->workspace = 0;
  }
  const std::size_t held = count < 0 ? 0 : std::min(static_cast<std::size_t>(count), pack->id.size());
  if (name == cudnn::kPackIds) {
    std::memcpy(pack->id.data(), values, held * sizeof pack->id[0]);
    pack->ids = held;
  } else if (name == cudnn::kPackPointers) {
    std::memcpy(pack->pointer.data(), values, held * sizeof pack->pointer[0]);
    pack->pointers = held;
  } else if (name == cudnn::kPackWorkspace && held > 0) {
    std::memcpy(&pack->workspace, values, sizeof pack->workspace);
  }
}

void CudnnPlans::attribute_set(cudnn::Descriptor descriptor, int name, int type, std::int64_t count,
                               const void* values) {
  if (values == nullptr || count < 0) return;
  if (name >= cudnn::kPackIds && name <= cudnn::kPackWorkspace)
    return set_pack(descriptor, name, count, values);
  // cuDNN is not called under the lock: it may hold one of its own, and call us from under that.
  Engine engine;
  if (name == cudnn::kPlanConfiguration && type == cudnn::kTypeDescriptor && count > 0)
    engine = read_engine(*static_cast<const cudnn::Descriptor*>(values));
  const std::lock_guard lock(mutex_);
  const auto found = shadows_.find(descriptor);
  if (found == shadows_.end()) return;
  Shadow& shadow = *found->second;
  const auto size = static_cast<std::size_t>(count);
  const auto numbers = [&]<class Value>(const Value* first) {
    shadow.numbers[name].assign(first, first + size);
  };
  switch (type) {
    case cudnn::kTypeInt64: numbers(static_cast<const std::int64_t*>(values)); break;
    case cudnn::kTypeDataType:
    case cudnn::kTypeMode: numbers(static_cast<const std::int32_t*>(values)); break;
    case cudnn::kTypeBoolean: numbers(static_cast<const std::uint8_t*>(values)); break;
    case cudnn::kTypeFloat:
      if (size > 0) shadow.factors[name] = static_cast<double>(*static_cast<const float*>(values));
      break;
    case cudnn::kTypeDouble:
      if (size > 0) shadow.factors[name] = *static_cast<const double*>(values);
      break;
    case cudnn::kTypeDescriptor: {
      std::vector<std::shared_ptr<const Shadow>>& parts = shadow.parts[name];
      parts.clear();
      const auto* const all = static_cast<const cudnn::Descriptor*>(values);
      for (std::size_t i = 0; i < size; ++i) {
        const auto part = shadows_.find(all[i]);
        parts.push_back(part == shadows_.end() ? nullptr : part->second);
      }
      if (name == cudnn::kPlanConfiguration) shadow.engine = std::move(engine);
      break;
    }
    default: break;
  }
}

void CudnnPlans::results_given(cudnn::Descriptor heuristics, std::int64_t count, const void* values) {
  const std::lock_guard lock(mutex_);
  const auto found = shadows_.find(heuristics);
  if (found == shadows_.end() || values == nullptr) return;
  const auto graph = found->second->parts.find(cudnn::kHeuristicsGraph);
  if (graph == found->second->parts.end() || graph->second.empty()) return;
  const auto* const all = static_cast<const cudnn::Descriptor*>(values);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto configuration = shadows_.find(all[i]);
    if (configuration == shadows_.end()) continue;
    configuration->second->graph = graph->second.front();
    configuration->second->parts.clear();  // of a use before
  }
}

// While the program's descriptor is there: heuristics have filled it, so that nobody has set these.
CudnnPlans::Engine CudnnPlans::read_engine(cudnn::Descriptor configuration) {
  Engine found;
  const Copy engine(cudnn::kEngine);
  cudnn::Descriptor engine_descriptor = engine.get();
  std::int64_t index = 0;
  if (read(configuration, cudnn::kConfigurationEngine, cudnn::kTypeDescriptor, 1, &engine_descriptor) != 1 ||
      read(engine.get(), cudnn::kEngineIndex, cudnn::kTypeInt64, 1, &index) != 1) {
    return found;
  }
  found.tag = std::to_string(index);
  std::vector<Copy> choices;
  std::array<cudnn::Descriptor, cudnn::kKinds> knobs{};
  for (cudnn::Descriptor& knob : knobs) knob = choices.emplace_back(cudnn::kKnobChoice).get();
  const std::int64_t count = read(configuration, cudnn::kConfigurationKnobs, cudnn::kTypeDescriptor,
                                  static_cast<std::int64_t>(knobs.size()), knobs.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::int32_t type = 0;
    std::int64_t value = 0;
    if (read(knobs[i], cudnn::kKnobType, cudnn::kTypeKnob, 1, &type) != 1 ||
        read(knobs[i], cudnn::kKnobValue, cudnn::kTypeInt64, 1, &value) != 1) {
      found.tag.clear();  // half a tag would be another engine's
      return found;
    }
    found.tag += "_k" + std::to_string(type) + "=" + std::to_string(value);
  }
  std::array<std::int32_t, cudnn::kNumericalNotes> notes{};
  const std::int64_t noted = read(engine.get(), cudnn::kEngineNumericalNote, cudnn::kTypeNumericalNote,
                                  static_cast<std::int64_t>(notes.size()), notes.data());
  found.has_tensor_cores =
      std::find(notes.begin(), notes.begin() + noted, cudnn::kTensorCoreNote) != notes.begin() + noted;
  return found;
}

const CudnnPlans::Shadow* CudnnPlans::graph_of(const Shadow& plan) {
  const Shadow* configuration = plan.part(cudnn::kPlanConfiguration);
  if (configuration == nullptr) return nullptr;
  if (configuration->graph != nullptr) return configuration->graph.get();
  const Shadow* engine = configuration->part(cudnn::kConfigurationEngine);
  return engine == nullptr ? nullptr : engine->part(cudnn::kEngineGraph);
}

void CudnnPlans::add_operand(CallDescription& description, const char* name, const Shadow* tensor,
                             OperandUse use) {
  if (tensor == nullptr || tensor->number(cudnn::kTensorIsVirtual, 0) != 0 ||
      tensor->number(cudnn::kTensorIsByValue, 0) != 0) {
    return;
  }
  const std::int64_t id = tensor->number(cudnn::kTensorId, 0);
  for (CallDescription::Operand& known : description.operands) {
    if (known.id != id) continue;
    if (use == OperandUse::output) known.use = use;
    return;
  }
  if (description.operands.size() == CallDescription::kMostOperands) return;
  const std::vector<std::int64_t>&dimensions = tensor->all(cudnn::kTensorDimensions),
        &strides = tensor->all(cudnn::kTensorStrides);
  std::uint64_t elements = 1;  // from the first to the last
  for (std::size_t i = 0; i < dimensions.size() && i < strides.size(); ++i) {
    if (dimensions[i] > 0 && strides[i] > 0)
      elements += static_cast<std::uint64_t>(dimensions[i] - 1) * static_cast<std::uint64_t>(strides[i]);
  }
  description.operands.push_back(
      {name, elements * type_name(tensor->number(cudnn::kTensorType, -1)).bytes, use, id});
}

// "CONVOLUTION_FORWARD mode=CROSS_CORRELATION pre=[1,1] … x=[type=HALF dims=[8,64,56,56] strides=[…]] …"
std::string CudnnPlans::describe_convolution(const Shadow& operation) {
  const ConvolutionAttributes& attributes = *convolution_of(operation.kind);
  std::string words;
  if (const Shadow* convolution = operation.part(attributes.convolution); convolution != nullptr) {
    words += convolution->number(cudnn::kMode, 1) == 1 ? " mode=CROSS_CORRELATION" : " mode=CONVOLUTION";
    words += std::string(" compute=") + type_name(convolution->number(cudnn::kComputeType, -1)).name;
    words += " pre=" + list_of(convolution->all(cudnn::kPrePaddings));
    words += " post=" + list_of(convolution->all(cudnn::kPostPaddings));
    words += " stride=" + list_of(convolution->all(cudnn::kStrides));
    words += " dilation=" + list_of(convolution->all(cudnn::kDilations));
  }
  const auto add_factor = [&](const char* name, int attribute, double usual) {
    const auto found = operation.factors.find(attribute);
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), " %s=%.9g", name,
                  found == operation.factors.end() ? usual : found->second);
    words += text.data();
  };
  add_factor("alpha", attributes.alpha, 1.0);
  add_factor("beta", attributes.beta, 0.0);
  for (const auto& [attribute, name, use] : attributes.tensors) {
    const Shadow* tensor = operation.part(attribute);
    if (tensor == nullptr) continue;
    words += std::string(" ") + name + "_type=" + type_name(tensor->number(cudnn::kTensorType, -1)).name;
    words += std::string(" ") + name + "_dims=" + list_of(tensor->all(cudnn::kTensorDimensions));
    words += std::string(" ") + name + "_strides=" + list_of(tensor->all(cudnn::kTensorStrides));
  }
  return words;
}

CallDescription CudnnPlans::describe(const Shadow& plan) {
  CallDescription description;
  description.library = Library::cudnn;
  const Shadow* graph = graph_of(plan);
  const std::vector<std::shared_ptr<const Shadow>>* operations =
      graph == nullptr ? nullptr : graph->parts_of(cudnn::kGraphOperations);
  if (operations == nullptr || operations->empty()) {
    description.words = "a plan whose making was not seen";
    return description;
  }
  for (const std::shared_ptr<const Shadow>& operation : (*operations)) {
    if (!description.words.empty()) description.words += "+";
    description.words += operation == nullptr ? "OPERATION" : operation_name(operation->kind);
    if (operation == nullptr) continue;
    const ConvolutionAttributes* attributes = convolution_of(operation->kind);
    for (const auto& [name, parts] : operation->parts) {
      if (attributes != nullptr) break;
      for (const std::shared_ptr<const Shadow>& part : parts) {
        if (part == nullptr || part->kind != cudnn::kTensor) continue;
        const bool is_output = name == cudnn::kPointwiseY || name == cudnn::kPointwiseDx;
        add_operand(description, "", part.get(), is_output ? OperandUse::output : OperandUse::unknown);
      }
    }
    if (attributes == nullptr) continue;
    for (const auto& [attribute, name, use] : attributes->tensors)
      add_operand(description, name, operation->part(attribute), use);
  }
  const Shadow* first = operations->front().get();
  const ConvolutionAttributes* convolution = first == nullptr ? nullptr : convolution_of(first->kind);
  const std::string prefix =
      convolution == nullptr || operations->size() > 1 ? description.words : convolution->engine;
  if (!plan.engine.tag.empty()) description.engine = prefix + "_eng" + plan.engine.tag;
  if (convolution != nullptr && operations->size() == 1) {
    description.words += describe_convolution(*first);
    description.words += plan.engine.has_tensor_cores ? " tensor_cores=1" : " tensor_cores=0";
  }
  return description;
}

std::uint32_t CudnnPlans::description_of(LibraryCalls& calls, cudnn::Descriptor plan) {
  if (const Plan* known = slot_of<kWindow>(plans_, plan); known != nullptr)
    return known->description.load(std::memory_order_relaxed);
  std::int64_t workspace = 0;
  if (read(plan, cudnn::kPlanWorkspace, cudnn::kTypeInt64, 1, &workspace) != 1) workspace = 0;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Shadow>& shadow = shadows_[plan];
  if (shadow == nullptr) {
    shadow = std::make_shared<Shadow>();
    shadow->kind = cudnn::kPlan;
  }
  if (shadow->description == LibraryCall::kNone) {
    CallDescription description = describe(*shadow);
    if (workspace > 0) description.workspace_bytes = static_cast<std::uint64_t>(workspace);
    shadow->description = calls.add(std::move(description));
  }
  if (Plan* free = free_slot_of<kWindow>(plans_, plan); free != nullptr) {
    free->description.store(shadow->description, std::memory_order_relaxed);
    free->key.store(plan, std::memory_order_release);
  }
  return shadow->description;
}

void CudnnPlans::note_addresses(const CallDescription& description, cudnn::Descriptor descriptor,
                                LibraryCall& call) noexcept {
  const Pack* pack = slot_of<kWindow>(packs_, descriptor);
  if (pack == nullptr) return;
  call.workspace = pack->workspace;
  const std::size_t count = std::min(pack->ids, pack->pointers);
  for (std::size_t i = 0; i < description.operands.size(); ++i) {
    for (std::size_t k = 0; k < count; ++k) {
      if (pack->id[k] == description.operands[i].id) call.addresses[i] = pack->pointer[k];
    }
  }
}

}  // namespace jitterscope::recorder
