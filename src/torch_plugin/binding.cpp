#include "torch_plugin/binding.hpp"

#include <algorithm>
#include <optional>

#include "base/names.hpp"
#include "torch_plugin/refusal.hpp"
#include "torch_plugin/schema_types.hpp"
#include "torch_plugin/torch_version.hpp"

namespace jitterscope::torch_plugin {

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

std::optional<std::size_t> place_of(const c10::FunctionSchema& schema, const std::string& name) {
  const auto place = schema.argumentIndexWithName(name);
  return place ? std::optional<std::size_t>(static_cast<std::size_t>(*place)) : std::nullopt;
}

namespace {

[[noreturn]] void refuse(const std::string& sentence) { throw Refusal(JITTERSCOPE_TORCH_USAGE, sentence); }

// Arguments in the schema's places. `problem` says what does not fit.
struct Fit {
  std::vector<const AtenArgument*> arguments;
  int conversions = 0;
  std::string problem;
};

void place(const Aten& aten, const c10::FunctionSchema& schema, Fit& fit) {
  fit.arguments.resize(schema.arguments().size());
  for (std::size_t i = 0; i < aten.arguments.size(); ++i) {
    const std::string& name = aten.argument_names[i];
    const std::optional<std::size_t> at = name.empty() ? i : place_of(schema, name);
    if (at && *at < fit.arguments.size() && fit.arguments[*at] == nullptr) {
      fit.arguments[*at] = &aten.arguments[i];
    } else if (!at) {
      fit.problem = "it has no argument " + name;
    } else {
      fit.problem = *at < fit.arguments.size()
                        ? "the argument " + name + " is given twice"
                        : "it takes " + std::to_string(fit.arguments.size()) + " arguments, not " +
                              std::to_string(aten.arguments.size());
    }
    if (!fit.problem.empty()) return;
  }
}

Fit fit_of(const Aten& aten, const c10::FunctionSchema& schema) {
  Fit fit;
  place(aten, schema, fit);
  for (std::size_t i = 0; i < fit.arguments.size() && fit.problem.empty(); ++i) {
    const c10::Argument& expected = schema.arguments()[i];
    if (fit.arguments[i] == nullptr) {
      if (!expected.default_value()) fit.problem = "its argument " + expected.name() + " is missing";
      continue;
    }
    const auto conversions = conversions_needed(expected, *fit.arguments[i]);
    if (!conversions) {
      fit.problem = "its argument " + expected.name() + " is a " + expected.type()->str() + ", not " +
                    described(*fit.arguments[i]);
    }
    fit.conversions += conversions.value_or(0);
  }
  return fit;
}

std::vector<c10::OperatorName> overloads_of(const std::string& name) {
  std::vector<c10::OperatorName> overloads;
  for (const c10::OperatorName& known : c10::Dispatcher::singleton().getAllOpNames()) {
    if (known.name == name && c10::Dispatcher::singleton().findSchema(known)) overloads.push_back(known);
  }
  std::sort(overloads.begin(), overloads.end(), [](const auto& a, const auto& b) {
    return a.overload_name < b.overload_name;  // the one without a name first
  });
  return overloads;
}

[[noreturn]] void refuse_unknown(const Aten& aten, const std::string& name) {
  const std::vector<c10::OperatorName> overloads = overloads_of(name);
  std::vector<std::string> known;
  if (!overloads.empty()) {
    for (const c10::OperatorName& overload : overloads) known.push_back(full_name(overload));
    refuse(aten.name + ": PyTorch " TORCH_VERSION " has no such overload; it has " + joined(known));
  }
  for (const c10::OperatorName& operator_name : c10::Dispatcher::singleton().getAllOpNames())
    known.push_back(operator_name.name);
  const std::string nearest = nearest_name(name, known);
  refuse(aten.name + ": PyTorch " TORCH_VERSION " has no such operator" +
         (nearest.empty() ? "" : " (did you mean " + nearest + "?)"));
}

c10::OperatorHandle named_operator(const Aten& aten, const std::string& name, const std::string& overload,
                                   std::vector<const AtenArgument*>& arguments) {
  const auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!handle) refuse_unknown(aten, name);
  Fit fit = fit_of(aten, handle->schema());
  if (!fit.problem.empty()) {
    refuse(aten.name + ": " + fit.problem + " (" + c10::str(handle->schema()) + ")");
  }
  arguments = std::move(fit.arguments);
  return *handle;
}

c10::OperatorHandle best_overload(const Aten& aten, std::vector<const AtenArgument*>& arguments) {
  std::optional<c10::OperatorHandle> best;
  int fewest = 0;
  std::vector<std::string> problems;
  const std::vector<c10::OperatorName> overloads = overloads_of(aten.name);
  if (overloads.empty()) refuse_unknown(aten, aten.name);
  for (const c10::OperatorName& name : overloads) {
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    Fit fit = fit_of(aten, handle->schema());
    if (!fit.problem.empty()) {
      problems.push_back(full_name(name) + ": " + fit.problem);
    } else if (!best || fit.conversions < fewest) {
      best = *handle;
      fewest = fit.conversions;
      arguments = std::move(fit.arguments);
    }
  }
  if (!best) refuse(aten.name + ": no overload takes these arguments (" + joined(problems, "; ") + ")");
  return *best;
}

c10::OperatorHandle choose(const Aten& aten, std::vector<const AtenArgument*>& arguments) {
  const std::size_t dot = aten.name.find('.');
  if (dot == std::string::npos) return best_overload(aten, arguments);
  return named_operator(aten, aten.name.substr(0, dot), aten.name.substr(dot + 1), arguments);
}

}  // namespace

Binding::Binding(const Aten& aten) : handle_(choose(aten, arguments_)) {}

const AtenArgument* Binding::find(std::string_view name) const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (schema().arguments()[i].name() == name) return arguments_[i];
  }
  return nullptr;
}

}  // namespace jitterscope::torch_plugin
