#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "import/import.hpp"
#include "import/model_builder.hpp"
#include "import/operator_selection.hpp"
#include "import/profiler_events.hpp"
#include "import/recorded_arguments.hpp"
#include "jitterscope/error.hpp"

// Imports PyTorch's profiler traces in Chrome's format, as torch.profiler.profile exports them.

namespace jitterscope {

/// Returns when aten::convolution_backward begins the weight's gradient: PyTorch allocates it after the
/// input's gradient is computed, which is an event with the weight's shape. nullopt if there is none.
std::optional<RecordTime> weight_gradient_begin(const ProfilerEvents& events, std::size_t convolution);

// An operator's kernels tell its arithmetic if its arguments do not.

/// Returns a product of f32 as one in TF32 if its kernel's name says so; any other operation as it was.
ConvertedOperation with_recorded_precision(ConvertedOperation converted, const RecordedWork& work);

namespace {

constexpr std::string_view kAtenPrefix = "aten::";

class ProfilerTraceImporter {
 public:
  ProfilerTraceImporter(const ProfilerEvents& events, bool ends_early)
      : events_(events), ends_early_(ends_early), work_(events.operators.size()) {
    for (std::size_t i = 0; i < events.operators.size(); ++i) {
      nodes_.push_back({events.operators[i].name, events.parents[i]});
    }
    for (const GpuWork& work : events.work) {
      if (work.caller != kNoParent) nodes_[work.caller].launches = true;
    }
    // Without CUDA activities only cuDNN's operators tell that it ran on a GPU.
    context_.on_gpu = has_work() || std::any_of(nodes_.begin(), nodes_.end(), [](const OperatorNode& node) {
                        return runs_on_gpu_alone(node.name);
                      });
    context_.knows_kernels = has_work();
    roles_ = select_operators(nodes_);
    owners_ = owners(nodes_, roles_);
    sums_ = with_timed_sums(nodes_, roles_);
  }

  void require_shapes(std::string_view file_name) const {
    bool any = false;
    for (const CalledOperator& called : events_.operators) {
      if (!called.name.starts_with(kAtenPrefix)) continue;
      if (called.arguments.find("\"Input Dims\"") != std::string_view::npos) return;
      if (called.arguments.find("\"Input dims\"") != std::string_view::npos) return;
      any = true;
    }
    throw UsageError(fmt::format(
        "{}: {}; record it with\n"
        "  with torch.profiler.profile(record_shapes=True) as profile:\n"
        "      step()\n"
        "  profile.export_chrome_trace(\"trace.json\")",
        file_name,
        any ? "this profiler trace has no shapes" : "this profiler trace has no operators of PyTorch"));
  }

  Model import(std::string_view file_name) {
    Nanoseconds total(0);
    for (const GpuWork& work : events_.work) {
      total += work.duration;
      const std::size_t owner = work.caller == kNoParent ? kNoParent : owners_[work.caller];
      owner == kNoParent ? add_work_of_nobody(work) : work_[owner].push_back(&work);
    }
    for (const std::size_t index : in_order_of_time()) visit(index);
    add_notes();
    Model model = builder_.finish(file_name, "PyTorch profiler trace");
    model.recorded_device = events_.device;
    if (has_work()) model.recorded_gpu_time = total;
    return model;
  }

 private:
  using Works = std::vector<const GpuWork*>;

  struct Conversion {
    std::vector<ConvertedOperation> operations;
    std::string problem, remedy;
    bool allow_tf32 = true;
  };

  bool has_work() const { return !events_.work.empty(); }

  std::vector<std::size_t> in_order_of_time() const {
    std::vector<std::size_t> order(nodes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return events_.operators[a].begin < events_.operators[b].begin;
    });
    return order;
  }

  static RecordedWork recorded(const Works& works) {
    RecordedWork result;
    for (const GpuWork* work : works) {
      result.time = result.time.value_or(Nanoseconds(0)) + work->duration;
      result.kernels.emplace_back(work->name);
    }
    return result;
  }

  void add_work_of_nobody(const GpuWork& work) {
    if (work.caller != kNoParent) {
      builder_.add_untimed(events_.operators[work.caller].name,
                           "It launched this itself, and cannot be called alone.", work.duration);
    } else {
      builder_.add_untimed(work.name, "The record does not say which operator launched it.", work.duration);
    }
  }

  void visit(std::size_t index) {
    const CalledOperator& called = events_.operators[index];
    RecordedWork work = recorded(work_[index]);
    // A whole file shows that an operator launched nothing; of one that ends early nobody knows.
    if (has_work() && work_[index].empty() && !ends_early_) work.time = Nanoseconds(0);
    if (roles_[index] == OperatorRole::foreign) {
      builder_.add_untimed(called.name,
                           "It is not an operator of PyTorch, but of another library, or communication.",
                           work.time);
    } else if (roles_[index] == OperatorRole::timed && has_work() && work_[index].empty()) {
      builder_.add_untimed(called.name,
                           ends_early_ ? "The file does not say what it launched on the GPU."
                                       : "It launched nothing on the GPU.",
                           work.time);
    } else if (roles_[index] == OperatorRole::timed) {
      add(index, work.time);
    }
  }

  // Caches conversions by the arguments' text: a network runs the same operators in each step.
  const std::vector<ConvertedOperation>& converted(std::size_t index) {
    const CalledOperator& called = events_.operators[index];
    const bool copies = copies_on_device(index);
    // The setting of forward convolutions decides how gradients are computed, so it is part of the key.
    std::string key = std::string(called.name) + (context_.allow_tf32 ? "+" : "-");
    if (copies) key += "=";
    if (sums_[index]) key += "s";
    const std::string_view arguments = called.arguments;
    const std::size_t begin = std::min(arguments.find("\"Concrete Inputs\""), arguments.find("\"Input"));
    const std::size_t end = arguments.rfind(']');
    if (begin < arguments.size() && end > begin) key += arguments.substr(begin, end - begin);
    const auto [place, is_new] = known_.try_emplace(std::move(key));
    if (is_new) place->second = conversion_of(index, copies);
    context_.allow_tf32 = place->second.allow_tf32;
    if (!place->second.problem.empty()) throw FieldProblem{place->second.problem, place->second.remedy};
    return place->second.operations;
  }

  Conversion conversion_of(std::size_t index, bool copies) {
    const CalledOperator& called = events_.operators[index];
    Conversion result;
    try {
      simdjson::dom::object object = parse_part(parser_, called.arguments);
      RecordedOperator recorded = read_event(called.name, object);
      require_strides(recorded);
      if (copies) {
        for (RecordedArgument& argument : recorded.arguments) argument.device = "cuda";
      }
      if (sums_[index] && !leave_bias_gradient_out(recorded))
        throw FieldProblem{"only the gradient of the bias was wanted, whose sum is timed apart"};
      result.operations = convert(recorded, context_);
    } catch (const IncompleteRecord& error) {
      result.problem = error.what();
      result.remedy = error.remedy;
    } catch (const UsageError& error) {
      result.problem = error.what();
    } catch (const FieldProblem& problem) {
      result.problem = problem.sentence;
    } catch (const simdjson::simdjson_error& error) {
      result.problem = fmt::format("Its arguments cannot be read: {}.", error.what());
    }
    result.allow_tf32 = context_.allow_tf32;
    return result;
  }

  // Matrix products depend on the strides of their operands; other operators are taken as dense.
  void require_strides(const RecordedOperator& recorded) {
    const bool lacks = std::any_of(recorded.arguments.begin(), recorded.arguments.end(), [](const auto& one) {
      return one.value.kind == AtenArgument::Kind::tensor && !one.value.shape.empty() &&
             one.value.strides.empty();
    });
    if (!lacks) return;
    if (is_matrix_product(recorded.name)) {
      throw FieldProblem{
          "the record has no 'Input Strides', which PyTorch 2.4 and newer write: whether its matrices are "
          "transposed is not known"};
    }
    lacks_strides_ = true;
  }

  // True if the profiler names a copy that stays on the GPU; it does not record the tensors' devices.
  bool copies_on_device(std::size_t index) const {
    const Works& works = work_[index];
    return works.size() == 1 && works.front()->name.starts_with("Memcpy DtoD");
  }

  void add(std::size_t index, std::optional<Nanoseconds> time) {
    const CalledOperator& called = events_.operators[index];
    try {
      const std::vector<ConvertedOperation>& operations = converted(index);
      const std::vector<Works> parts = split(index, operations.size());
      for (std::size_t i = 0; i < operations.size(); ++i) {
        const std::string part = operations[i].part.empty() ? "" : "." + operations[i].part;
        const RecordedWork work = recorded(parts[i]);
        builder_.add_call(fmt::format("{}#{}{}", called.name, ++calls_, part), called.name,
                          with_recorded_precision(operations[i], work), work);
      }
    } catch (const FieldProblem& problem) {
      builder_.add_untimed(called.name, problem.sentence, time, problem.remedy);
    } catch (const simdjson::simdjson_error& error) {  // in an operator that it called
      builder_.add_untimed(called.name, fmt::format("Its arguments cannot be read: {}.", error.what()), time);
    }
  }

  // Splits an operator's kernels among its operations.
  std::vector<Works> split(std::size_t index, std::size_t count) {
    std::vector<Works> parts(count);
    if (count == 1) parts.front() = work_[index];
    if (count < 2) return parts;
    const std::optional<RecordTime> boundary = weight_gradient_begin(events_, index);
    if (!boundary && !work_[index].empty()) {
      context_.note(
          "The kernels of some gradients of convolutions could not be told apart: those of the weight's "
          "stand with those of the input's.");
    }
    for (const GpuWork* work : work_[index]) {
      parts[boundary && work->launched >= *boundary ? 1 : 0].push_back(work);
    }
    return parts;
  }

  void add_notes() {
    for (const std::string& note : context_.notes) builder_.add_note(note);
    if (!context_.on_gpu)
      builder_.add_note("The record is of a run on a CPU, or without CUDA activities: it has no GPU times.");
    if (context_.on_gpu && !has_work())
      builder_.add_note(
          ends_early_ ? "The file ends before what ran on the GPU: it has no GPU times."
                      : "The record is of a run on a GPU, without CUDA activities: it has no GPU times.");
    if (lacks_strides_) {
      builder_.add_note(
          "The record has no 'Input Strides', which PyTorch 2.4 and newer write: tensors are taken as dense "
          "and row-major (nchw).");
    }
    if (events_.steps.size() > 1) {
      builder_.add_note(
          fmt::format("The record holds {} steps; counts are of all of them.", events_.steps.size()));
    }
    if (events_.processes.size() > 1) {
      builder_.add_note(
          fmt::format("The record holds operators of {} processes; counts and times are of all "
                      "of them.",
                      events_.processes.size()));
    }
    if (events_.devices.size() > 1) {
      builder_.add_note(
          fmt::format("The record holds work of {} GPUs ({}); counts and times are of all of "
                      "them.",
                      events_.devices.size(), fmt::join(events_.devices, ", ")));
    }
  }

  const ProfilerEvents& events_;
  bool ends_early_;
  std::vector<OperatorNode> nodes_;
  std::vector<OperatorRole> roles_;
  std::vector<std::size_t> owners_;
  std::vector<bool> sums_;
  bool lacks_strides_ = false;
  std::vector<Works> work_;  ///< work of each operator that owns some
  std::map<std::string, Conversion> known_;
  simdjson::dom::parser parser_;
  ConversionContext context_;
  ModelBuilder builder_;
  std::int64_t calls_ = 0;
};

}  // namespace

Model import_profiler_trace(std::string_view text, std::string_view file_name, bool ends_early) {
  ReadableJson json(text, file_name);
  const ProfilerEvents events = read_profiler_events(json, file_name);
  ProfilerTraceImporter importer(events, ends_early);
  importer.require_shapes(file_name);
  Model model = importer.import(file_name);
  if (const auto note = json.note()) model.notes.push_back(*note);
  return model;
}

namespace {

constexpr std::size_t kWeight = 2;  // index in aten::convolution_backward's arguments

std::vector<std::int64_t> weight_shape(const CalledOperator& convolution) {
  simdjson::dom::parser parser;
  simdjson::dom::array shapes;
  if (parse_part(parser, convolution.arguments)["Input Dims"].get(shapes) != simdjson::SUCCESS) return {};
  simdjson::dom::element shape;
  if (shapes.at(kWeight).get(shape) != simdjson::SUCCESS) return {};
  std::vector<std::int64_t> sizes = integers_of(shape, "Input Dims");
  // PyTorch runs a 1D convolution as a 2D one along the second dimension.
  if (sizes.size() == 3) sizes.insert(sizes.begin() + 2, 1);
  return sizes;
}

bool allocates(const CalledOperator& called, const std::vector<std::int64_t>& shape) {
  if (!called.name.starts_with("aten::empty") || called.arguments.empty()) return false;
  simdjson::dom::parser parser;
  simdjson::dom::array values;
  std::string_view text;
  if (parse_part(parser, called.arguments)["Concrete Inputs"].get(values) != simdjson::SUCCESS) return false;
  if (values.at(0).get(text) != simdjson::SUCCESS) return false;
  const std::optional<AtenArgument> sizes = parse_concrete(text);
  if (!sizes || sizes->elements.size() != shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (sizes->elements[i].integer != shape[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<RecordTime> weight_gradient_begin(const ProfilerEvents& events, std::size_t convolution) {
  const CalledOperator& called = events.operators[convolution];
  const std::vector<std::int64_t> shape = weight_shape(called);
  std::optional<RecordTime> begin;
  if (shape.empty()) return begin;
  // Takes the last allocation, as the input's gradient, which comes first, may have the same shape.
  for (std::size_t i = convolution + 1; i < events.operators.size(); ++i) {
    const CalledOperator& child = events.operators[i];
    if (child.thread != called.thread || child.begin > called.end) break;
    if (events.parents[i] == convolution && allocates(child, shape)) begin = child.begin;
  }
  return begin;
}

namespace {

// True for sm80_xmma_gemm_f32f32_tf32f32_f32_…; for f32 operands CUTLASS calls the instruction s1688gemm.
bool is_in_tf32(const std::string& kernel) {
  return kernel.find("tf32") != std::string::npos || kernel.find("s1688gemm") != std::string::npos;
}

template <class Product>
void take_precision(ConvertedOperation& converted) {
  const auto* product = std::get_if<Product>(&converted.operation.parameters());
  if (product == nullptr || product->dtype != DataType::f32) return;
  Product changed = *product;
  changed.dtype = DataType::tf32;
  converted.operation = Operation(changed);
}

}  // namespace

ConvertedOperation with_recorded_precision(ConvertedOperation converted, const RecordedWork& work) {
  if (std::none_of(work.kernels.begin(), work.kernels.end(), is_in_tf32)) return converted;
  take_precision<Matmul>(converted);
  take_precision<Linear>(converted);
  return converted;
}

}  // namespace jitterscope
