#include "cli/completion_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "device/virtual/presets.hpp"
#include "model/named_models.hpp"
#include "operation/model.hpp"
#include "operation/words.hpp"
#include "selftest/proofs.hpp"

namespace jitterscope::cli {
namespace {

std::vector<std::string> proof_names() {
  std::vector<std::string> names;
  for (const selftest::Proof& proof : selftest::all_proofs()) names.emplace_back(proof.name);
  return names;
}

// Flags whose values are words of the measuring library, which CLI11 does not know. completion_test holds
// them against what the program takes.
std::vector<std::string> known_words_of(const CommandDescription& command, const OptionDescription& option) {
  static const std::map<std::string, std::vector<std::string>> words = {
      {"--cache", {"warm", "cold", "dirty", "produced"}},
      {"--load", {"burst", "sustained"}},
      {"--queue", {"saturated", "eager", "graph"}},
      {"--instrument", {"auto", "events", "graph", "cupti", "host"}},
      {"--data", {"normal", "uniform", "zeros", "ones", "sparse"}},
      {"--provider", {"auto", "torch", "builtin"}},
      {"--findings", {"none", "top", "all"}},
      {"--lock-clocks", {"base", "max"}}};
  if (!option.words.empty()) return option.words;
  if (command.name == "selftest" && option.name == "--only") return proof_names();
  const auto found = words.find(option.name);
  return found == words.end() ? std::vector<std::string>() : found->second;
}

// "write everything to PATH or - (stdout)"
bool takes_file(const OptionDescription& option) {
  static const std::set<std::string> names = {"--python", "--trace", "--log", "files"};
  return names.contains(option.name) || option.value == "FILE" ||
         option.description.find("PATH") != std::string::npos;
}

// What is typed before the value at the cursor, in a list a,b,c.
std::string list_before(const std::string& current) { return current.substr(0, current.rfind(',') + 1); }

void add_devices(const std::string& current, const std::string& before, Completions& completions) {
  constexpr std::string_view kWithout = ",without=";
  const std::size_t without = current.find(kWithout);
  if (without != std::string::npos) {
    const std::size_t last = std::max(current.rfind('+') + 1, without + kWithout.size());
    for (const std::string& name : virtual_gpu::mechanism_names()) {
      completions.words.push_back({before + current.substr(0, last) + name, "without this cause"});
    }
    return;
  }
  for (const char* name : {"auto", "cpu", "cuda", "virtual"})
    completions.words.push_back({before + name, ""});
  for (const std::string& name : virtual_gpu::preset_names()) {
    completions.words.push_back({before + "virtual:" + name, "simulated GPU"});
  }
}

std::set<std::string> words_in(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

template <class Value>
void add_words(const std::set<std::string>& said, std::set<std::string>& found) {
  for (const Word<Value>& word : words_of<Value>()) {
    if (said.contains(std::string(word.text))) found.emplace(word.text);
  }
}
// The help of a parameter names its values: "forward (as in training) or backward".
std::set<std::string> values_of(const ParameterHelp& parameter) {
  const std::set<std::string> said = words_in(parameter.meaning);
  std::set<std::string> found;
  const bool is_target = parameter.name == "to" || parameter.name == "to_dtype";
  if (parameter.name == "dtype" || parameter.name == "to_dtype") add_words<DataType>(said, found);
  if (parameter.name == "layout" || parameter.name == "from" || parameter.name == "to") {
    add_words<Layout>(said, found);
  }
  if (parameter.name == "layout") add_words<HeadLayout>(said, found);
  if (parameter.name == "direction") add_words<Direction>(said, found);
  if (parameter.name == "pass") add_words<Pass>(said, found);
  if (parameter.name == "kind") add_words<CopyKind>(said, found);
  if (parameter.name == "memory") add_words<HostMemory>(said, found);
  if (parameter.name == "by") add_words<Allocator>(said, found);
  // A target is by default what another parameter says.
  if (!found.empty() && !parameter.default_value.empty() && !is_target) found.insert(parameter.default_value);
  return found;
}

// `before`: KIND:name=value, up to the last comma; the rest is a name, or a name and a value.
void add_parameters(const std::vector<ParameterHelp>& parameters, const std::string& before,
                    const std::string& rest, Completions& completions) {
  const std::size_t equals = rest.find('=');
  for (const ParameterHelp& parameter : parameters) {
    if (equals == std::string::npos) {
      const std::string taken = parameter.name + "=";
      if (before.find(":" + taken) != std::string::npos || before.find("," + taken) != std::string::npos)
        continue;
      completions.words.push_back({before + taken, parameter.meaning});
    } else if (rest.substr(0, equals) == parameter.name) {
      for (const std::string& word : values_of(parameter)) {
        completions.words.push_back({before + parameter.name + "=" + word, ""});
      }
    }
  }
}

void add_target_parameters(const std::string& current, const std::string& before, Completions& completions) {
  const std::size_t colon = current.find(':');
  const std::string name = current.substr(0, colon);
  const std::size_t last = std::max(current.rfind(',') + 1, colon + 1);
  for (const OperationHelp& help : operation_help()) {
    if (help.kind != name) continue;
    add_parameters(help.parameters, before + current.substr(0, last), current.substr(last), completions);
  }
  for (const ModelDescription& model : named_models()) {
    if (model.name != name) continue;
    add_parameters(model.options, before + current.substr(0, last), current.substr(last), completions);
  }
}

void add_operations(const std::string& before, Completions& completions) {
  for (const OperationHelp& help : operation_help()) {
    const char* end = help.kind == "aten" ? "::" : ":";  // aten::relu(f32[64])
    completions.words.push_back({before + help.kind + end, help.summary});
  }
}

void add_models(const std::string& before, Completions& completions) {
  for (const ModelDescription& model : named_models()) {
    completions.words.push_back({before + model.name, model.sentence});
  }
  for (const std::string& name : model_names()) completions.words.push_back({before + name, "model file"});
}

// An operation, a network's name, or a file; which of them, the argument's name says.
void add_targets(const std::string& argument, const std::string& current, const std::string& before,
                 Completions& completions) {
  if (current.find(':') != std::string::npos) {
    add_target_parameters(current, before, completions);
    return;
  }
  if (argument == "targets" || argument == "operation") add_operations(before, completions);
  if (argument != "operation") add_models(before, completions);
  completions.files = argument == "targets" || argument == "what";
  if (argument != "what") return;
  for (const char* section : {"operations", "devices", "providers", "models", "counters"}) {
    completions.words.push_back({before + section, "section of the list"});
  }
}

}  // namespace

Completions complete_value(const CommandDescription& command, const OptionDescription& option,
                           const std::string& current, const std::string& before) {
  Completions completions;
  const std::vector<std::string> words = known_words_of(command, option);
  if (!words.empty()) {
    const std::string list = option.takes_several ? list_before(current) : "";
    for (const std::string& word : words) completions.words.push_back({before + list + word, ""});
  } else if (option.name == "--device") {
    add_devices(current, before, completions);
  } else if (option.is_argument) {
    add_targets(option.name, current, before, completions);
  } else {
    completions.files = takes_file(option);
  }
  return completions;
}

}  // namespace jitterscope::cli
