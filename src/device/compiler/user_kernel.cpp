#include "device/compiler/user_kernel.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "device/carried_kernels.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

[[noreturn]] void refuse(const std::string& kernel, const std::string& problem) {
  throw UsageError(fmt::format("{}: {}", kernel, problem));
}

const char* how_to_give(std::size_t bytes) {
  switch (bytes) {
    case 1: return "write it as i8:… or u8:… (a bool is u8:0 or u8:1)";
    case 2: return "write it as i16:…, u16:…, f16:… or bf16:…";
    case 4: return "write it as an int (5), u32:… or a float (2.5)";
    case 8: return "write it as a buffer, i64:…, u64:… or f64:…";
    default: return "only parameters of 1, 2, 4 and 8 bytes can be given: change the kernel's";
  }
}

std::size_t size_of(const KernelArgument& argument) {
  return is_buffer(argument) ? sizeof(void*) : number_type_word(argument.number_type).bytes;
}

void refuse_count(const std::string& kernel, std::size_t parameters, std::size_t arguments) {
  refuse(kernel,
         fmt::format("it has {} parameters, and {} arguments are given; write one for each, in their order",
                     parameters, arguments));
}

bool takes(const KernelParameter& parameter, const KernelArgument& argument) {
  return parameter.kind == KernelParameter::Kind::unknown ||
         (parameter.kind == KernelParameter::Kind::pointer) == is_buffer(argument);
}

// Compares kinds if one kernel of this name has as many parameters: among several a compiler chooses.
void check_kinds(const std::string& name, const std::vector<SourceKernel>& named, const CudaKernel& kernel) {
  const auto has_as_many = [&](const SourceKernel& each) {
    return !each.has_pack && each.parameters.size() == kernel.arguments.size();
  };
  if (std::ranges::count_if(named, has_as_many) != 1 || std::ranges::any_of(named, &SourceKernel::has_pack))
    return;
  const SourceKernel& found = *std::ranges::find_if(named, has_as_many);
  for (std::size_t i = 0; i < found.parameters.size(); ++i) {
    const KernelParameter& parameter = found.parameters[i];
    const KernelArgument& argument = kernel.arguments[i];
    if (takes(parameter, argument)) continue;
    refuse(
        name,
        is_buffer(argument)
            ? fmt::format("parameter {}, {}, is a number, and {} is a buffer; write {}=5, or with its type",
                          i + 1, parameter.text, argument.name, argument.name)
            : fmt::format(
                  "parameter {}, {}, is a pointer, and {} is a number; write a buffer, as {}=f32[1Mi]", i + 1,
                  parameter.text, argument.name, argument.name));
  }
}

std::vector<SourceKernel> known_kernels(const std::string& name, const SourceKernels& all,
                                        const CompileRequest& request) {
  std::vector<SourceKernel> named = find_kernels(all, name);
  if (named.empty() && all.is_complete) fail_unknown_kernel(request.file, name, all);
  const bool has_arguments = name.find('<') != std::string::npos;
  const auto is_as_written = [&](const SourceKernel& each) { return each.is_template == has_arguments; };
  if (named.empty() || std::ranges::any_of(named, is_as_written)) return named;
  refuse(name,
         has_arguments
             ? fmt::format("{} has it without template arguments; leave them out", request.file)
             : fmt::format("it is a template in {}; write its arguments, as {}<float>", request.file, name));
}

void check_text(const std::string& name, const SourceKernels& all, const CudaKernel& kernel,
                const CompileRequest& request) {
  const std::vector<SourceKernel> named = known_kernels(name, all, request);
  const auto may_take = [&](const SourceKernel& each) {
    return each.has_pack || each.parameters.size() == kernel.arguments.size();
  };
  if (!named.empty() && std::ranges::none_of(named, may_take))
    refuse_count(name, named.front().parameters.size(), kernel.arguments.size());
  check_kinds(name, named, kernel);
}

}  // namespace

CompileRequest compile_request(const CudaKernel& kernel, int architecture) {
  if (kernel.architecture > architecture) {
    refuse(kernel.kernel,
           fmt::format(
               "architecture={} is newer than this GPU ({}.{}), which runs its own code and older one; take "
               "{} or less",
               kernel.architecture, architecture / 10, architecture % 10, architecture));
  }
  return {.source = kernel_source(kernel.file),
          .file = kernel.file,
          .kernel = kernel.kernel,
          .architecture = architecture,
          .older_architecture = kernel.architecture,
          .registers = kernel.registers,
          .fast_math = kernel.fast_math,
          .optimize = kernel.optimize,
          .bound_threads = kernel.min_blocks > 0 ? threads_in_block(kernel) : 0,
          .min_blocks = kernel.min_blocks};
}

void check_arguments(const CudaKernel& kernel, const CompileRequest& request,
                     const CompiledKernel& compiled) {
  const std::vector<std::size_t>& sizes = compiled.parameter_sizes;
  check_kinds(kernel.kernel, find_kernels(kernels_in(request.source, request.file), kernel.kernel), kernel);
  for (std::size_t i = 0; i < std::min(sizes.size(), kernel.arguments.size()); ++i) {
    const KernelArgument& argument = kernel.arguments[i];
    if (sizes[i] == size_of(argument)) continue;
    refuse(kernel.kernel, fmt::format("parameter {} takes {} bytes, and {} has {}; {}", i + 1, sizes[i],
                                      argument.name, size_of(argument), how_to_give(sizes[i])));
  }
  if (sizes.size() != kernel.arguments.size())
    refuse_count(kernel.kernel, sizes.size(), kernel.arguments.size());
}

void check_source(const CudaKernel& kernel, const CompileRequest& request) {
  const SourceKernels all = kernels_in(request.source, request.file);
  check_text(kernel.kernel, all, kernel, request);
  if (!kernel.reference.empty()) check_text(kernel.reference, all, kernel, request);
}

std::string kernel_source(const std::string& file) {
  std::vector<std::string> names;
  for (const CarriedKernel& carried : carried_kernels()) {
    if (carried.name == file) return carried.text;
    names.emplace_back(carried.name);
  }
  if (file.starts_with('@')) {
    throw UsageError(
        fmt::format("no kernel source {} is carried by the program{}; a file's name begins otherwise",
                    in_quotes(file), suggestion(file, names)));
  }
  auto [text, problem] = file_text(file);
  if (problem) {
    throw UsageError(
        fmt::format("{} cannot be read: no CUDA source file is there (the path is relative to the "
                    "folder that jitterscope is called in)",
                    file));
  }
  return std::move(text);
}

namespace {

using Tokens = std::vector<std::string>;

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_in_word(char c) { return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_word(const std::string& token) { return begins_word(token.front()); }

template <std::size_t Count>
bool is_one_of(std::string_view word, const std::array<std::string_view, Count>& words) {
  return std::ranges::find(words, word) != words.end();
}

// Splits a text into words, numbers and signs, without comments; literals become "". Keeps directives apart.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) { read(); }

  Tokens tokens;
  std::vector<std::string> directives;  // each in one line, without the #

 private:
  char at(std::size_t index) const { return index < text_.size() ? text_[index] : '\0'; }
  bool follows(std::string_view word) const { return text_.substr(next_).starts_with(word); }

  void read() {
    bool begins_line = true;
    while (next_ < text_.size()) {
      const char c = text_[next_];
      if (c == '\n') {
        begins_line = true;
        ++next_;
      } else if (c == '\\' && (at(next_ + 1) == '\n' || at(next_ + 1) == '\r')) {
        ++next_;
        skip_line_end();
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++next_;
      } else if (follows("//") || follows("/*")) {
        skip_comment();
      } else if (c == '#' && begins_line) {
        read_directive();
      } else {
        begins_line = false;
        read_token(c);
      }
    }
  }
  void skip_line_end() {
    if (at(next_) == '\r') ++next_;
    if (at(next_) == '\n') ++next_;
  }
  void skip_comment() {
    const bool is_line = text_[next_ + 1] == '/';
    std::size_t end = is_line ? text_.find('\n', next_) : text_.find("*/", next_ + 2);
    // A line comment continues after a backslash at the line's end.
    while (is_line && end != std::string_view::npos && text_[text_.find_last_not_of('\r', end - 1)] == '\\')
      end = text_.find('\n', end + 1);
    next_ = end == std::string_view::npos ? text_.size() : end + (is_line ? 0 : 2);
  }
  void read_directive() {
    std::string line;
    for (++next_; next_ < text_.size() && text_[next_] != '\n';) {
      if (follows("//") || follows("/*")) {
        skip_comment();
        line += ' ';
      } else if (text_[next_] == '\\' && (at(next_ + 1) == '\n' || at(next_ + 1) == '\r')) {
        ++next_;
        skip_line_end();
        line += ' ';
      } else {
        line += text_[next_++];
      }
    }
    directives.push_back(std::move(line));
  }
  void read_token(char c) {
    if (begins_word(c)) {
      const std::size_t begin = next_;
      while (is_in_word(at(next_))) ++next_;
      const std::string_view word = text_.substr(begin, next_ - begin);
      if (at(next_) == '"' && word.ends_with('R')) return skip_raw_text();
      tokens.emplace_back(word);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      const std::size_t begin = next_;
      while (is_in_word(at(next_)) || at(next_) == '.' || (at(next_) == '\'' && is_in_word(at(next_ + 1))))
        ++next_;
      tokens.emplace_back(text_.substr(begin, next_ - begin));
    } else if (c == '"' || c == '\'') {
      skip_text(c);
    } else if (follows("::")) {
      tokens.emplace_back("::");
      next_ += 2;
    } else {
      tokens.emplace_back(1, c);
      ++next_;
    }
  }
  void skip_text(char quote) {
    for (++next_; next_ < text_.size() && text_[next_] != quote && text_[next_] != '\n'; ++next_) {
      if (text_[next_] == '\\') ++next_;
    }
    next_ = std::min(next_ + 1, text_.size());
    tokens.emplace_back("\"\"");
  }
  void skip_raw_text() {
    const std::size_t bracket = std::min(text_.find('(', next_), text_.size());
    const std::string end = ")" + std::string(text_.substr(next_ + 1, bracket - next_ - 1)) + '"';
    const std::size_t found = text_.find(end, bracket);
    next_ = found == std::string_view::npos ? text_.size() : found + end.size();
    tokens.emplace_back("\"\"");
  }

  std::string_view text_;
  std::size_t next_ = 0;
};

// Returns where the bracket at `begin` is closed, or the end. <> are brackets only with `with_angles`.
std::size_t closing(const Tokens& tokens, std::size_t begin, bool with_angles = false) {
  std::size_t depth = 0;
  for (std::size_t i = begin; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    const bool opens = token == "(" || token == "[" || token == "{" || (with_angles && token == "<");
    const bool closes = token == ")" || token == "]" || token == "}" || (with_angles && token == ">");
    depth += opens ? 1 : 0;
    if (closes && --depth == 0) return i;
  }
  return tokens.size();
}

std::string text_of(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    const bool parts = !text.empty() && is_in_word(token.front()) &&
                       (is_in_word(text.back()) || std::string_view("*&>,)").find(text.back()) < 5);
    if (parts) text += ' ';
    text += token;
  }
  return text;
}

bool names_number(const std::string& token) {
  static constexpr std::array<std::string_view, 29> kNumbers = {
      "bool",     "char",     "short",    "int",       "long",         "unsigned", "signed",  "float",
      "double",   "size_t",   "int8_t",   "int16_t",   "int32_t",      "int64_t",  "uint8_t", "uint16_t",
      "uint32_t", "uint64_t", "intptr_t", "uintptr_t", "ptrdiff_t",    "__half",   "half",    "nv_bfloat16",
      "uint",     "ulong",    "ushort",   "uchar",     "__nv_bfloat16"};
  return is_one_of(token, kNumbers);
}

KernelParameter parameter_of(Tokens tokens) {
  std::size_t depth = 0;
  bool is_pointer = false, is_number = false, is_other = false;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "=" && depth == 0) tokens.resize(i);
    if (i >= tokens.size()) break;
    if (token == "<" || token == "(" || token == "{") ++depth;
    if (depth == 0) {
      is_pointer = is_pointer || token == "*" || token == "[";
      is_number = is_number || names_number(token);
      is_other = is_other || token == "&" || token == "...";
    } else {
      is_other = is_other || token == "(";
    }
    if ((token == ">" || token == ")" || token == "}") && depth > 0) --depth;
  }
  KernelParameter parameter{text_of(tokens)};
  if (is_other) return parameter;
  if (is_pointer) {
    parameter.kind = KernelParameter::Kind::pointer;
  } else if (is_number) {
    parameter.kind = KernelParameter::Kind::number;
  }
  return parameter;
}

void add_parameters(const Tokens& tokens, SourceKernel& kernel) {
  Tokens one;
  std::size_t depth = 0;
  const auto finish = [&] {
    const bool is_none = one.empty() || (one.size() == 1 && one.front() == "void");
    if (!is_none) kernel.parameters.push_back(parameter_of(one));
    one.clear();
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    kernel.has_pack = kernel.has_pack ||
                      (token == "." && i + 2 < tokens.size() && tokens[i + 1] == "." && tokens[i + 2] == ".");
    if (token == "(" || token == "[" || token == "{" || token == "<") ++depth;
    if ((token == ")" || token == "]" || token == "}" || token == ">") && depth > 0) --depth;
    if (token == "," && depth == 0) {
      finish();
    } else {
      one.push_back(token);
    }
  }
  finish();
}

// Finds kernels among a file's tokens.
class Reader {
 public:
  Reader(const Tokens& tokens, SourceKernels& all) : tokens_(tokens), all_(all) {}

  void read() {
    for (next_ = 0; next_ < tokens_.size(); ++next_) {
      const std::string& token = tokens_[next_];
      if (token == "namespace") {
        enter_namespace();
      } else if (token == "{") {
        scopes_.emplace_back();
      } else if (token == "}") {
        if (!scopes_.empty()) scopes_.pop_back();
        is_template_ = false;
      } else if (token == ";") {
        is_template_ = false;
      } else if (token == "template") {
        is_template_ = true;
        if (next_ + 1 < tokens_.size() && tokens_[next_ + 1] == "<")
          next_ = closing(tokens_, next_ + 1, true);
      } else if (token == "__global__") {
        read_kernel();
      }
    }
  }

 private:
  // `using namespace` and namespace aliases open no scope.
  void enter_namespace() {
    const std::string before = next_ > 0 ? tokens_[next_ - 1] : std::string();
    const bool is_transparent = before == "inline";
    all_.uses_namespaces = all_.uses_namespaces || before == "using";
    std::string name;
    std::size_t i = next_ + 1;
    for (; i < tokens_.size() && tokens_[i] != "{" && tokens_[i] != ";"; ++i) {
      if (tokens_[i] == "[" || tokens_[i] == "(") {
        i = closing(tokens_, i);
      } else if (is_word(tokens_[i]) && tokens_[i] != "__attribute__" && tokens_[i] != "inline") {
        name += tokens_[i] + "::";
      }
    }
    if (i < tokens_.size() && tokens_[i] == "{") scopes_.push_back(is_transparent ? std::string() : name);
    next_ = i;
  }

  // The last brackets before `{` or `;` are the parameters; those of __launch_bounds__ come before a name.
  void read_kernel() {
    static constexpr std::array<std::string_view, 4> kBehind = {"noexcept", "__attribute__",
                                                                "__launch_bounds__", "__maxnreg__"};
    std::size_t i = next_ + 1;
    for (; i < tokens_.size() && tokens_[i] != "{" && tokens_[i] != ";" && tokens_[i] != "}"; ++i) {
      if (tokens_[i] != "(") continue;
      const std::size_t end = closing(tokens_, i);
      const bool is_last =
          end + 1 >= tokens_.size() || !is_word(tokens_[end + 1]) || is_one_of(tokens_[end + 1], kBehind);
      if (is_last) {
        add(i, end);
        next_ = std::min(end, tokens_.size() - 1);
        return;
      }
      i = end;
    }
    next_ = i - 1;
  }

  void add(std::size_t begin, std::size_t end) {
    std::size_t name = begin;  // one after the name
    if (name > 0 && tokens_[name - 1] == ">") {
      std::size_t depth = 0;
      while (name > next_) {
        --name;
        if (tokens_[name] == ">") ++depth;
        if (tokens_[name] == "<" && --depth == 0) break;
      }
    }
    if (name <= next_ + 1 || !is_word(tokens_[name - 1])) return;
    SourceKernel kernel{.name = tokens_[name - 1], .is_template = is_template_};
    for (std::size_t i = name - 1; i >= next_ + 3 && tokens_[i - 1] == "::" && is_word(tokens_[i - 2]);
         i -= 2)
      kernel.name = tokens_[i - 2] + "::" + kernel.name;
    std::string scope;
    for (const std::string& each : scopes_) scope += each;
    kernel.name = scope + kernel.name;
    const std::size_t last = std::min(end, tokens_.size());
    add_parameters(Tokens(tokens_.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                          tokens_.begin() + static_cast<std::ptrdiff_t>(last)),
                   kernel);
    const bool is_known = std::ranges::any_of(all_.kernels, [&](const SourceKernel& other) {
      return other.name == kernel.name && std::ranges::equal(other.parameters, kernel.parameters, {},
                                                             &KernelParameter::kind, &KernelParameter::kind);
    });
    if (!is_known) all_.kernels.push_back(std::move(kernel));
    is_template_ = false;
  }

  const Tokens& tokens_;
  SourceKernels& all_;
  std::vector<std::string> scopes_;  // the namespace prefix of each open brace
  std::size_t next_ = 0;
  bool is_template_ = false;
};

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

class SourceReader {
 public:
  void read(const std::string& source, const std::filesystem::path& file) {
    const Tokenizer text(source);
    for (const std::string& directive : text.directives) heed(directive, file);
    Reader(text.tokens, all).read();
  }

  SourceKernels all;

 private:
  void heed(const std::string& directive, const std::filesystem::path& file) {
    const std::string_view line = without_blanks(directive);
    if (line.starts_with("define")) {
      all.is_complete = all.is_complete && line.find("__global__") == std::string_view::npos;
      return;
    }
    if (!line.starts_with("include")) return;
    const std::string_view rest = without_blanks(line.substr(7));
    const std::size_t end = rest.empty() ? std::string_view::npos : rest.find('"', 1);
    if (!rest.starts_with('"') || end == std::string_view::npos) {
      all.is_complete = all.is_complete && rest.starts_with('<');  // otherwise a macro names the file
      return;
    }
    const std::filesystem::path header = file.parent_path() / std::string(rest.substr(1, end - 1));
    if (!seen_.insert(header.lexically_normal().string()).second) return;
    const FileText text = file_text(header);
    // CUDA's own headers may be included in quotes too; they have no kernels.
    if (!text.error) read(text.text, header);
  }

  std::set<std::string> seen_;
};

}  // namespace

SourceKernels kernels_in(const std::string& source, const std::string& file) {
  SourceReader reader;
  reader.read(source, file);
  return std::move(reader.all);
}

std::vector<SourceKernel> find_kernels(const SourceKernels& all, std::string_view expression) {
  std::string name(expression.substr(0, expression.find('<')));
  std::erase(name, ' ');
  if (name.starts_with("::")) name.erase(0, 2);
  std::vector<SourceKernel> found;
  std::ranges::copy_if(all.kernels, std::back_inserter(found),
                       [&](const SourceKernel& kernel) { return kernel.name == name; });
  if (!found.empty() || !all.uses_namespaces) return found;
  std::ranges::copy_if(all.kernels, std::back_inserter(found),
                       [&](const SourceKernel& kernel) { return kernel.name.ends_with("::" + name); });
  return found;
}

void fail_unknown_kernel(const std::string& file, const std::string& kernel, const SourceKernels& all) {
  std::vector<std::string> names;
  std::string example;
  for (const SourceKernel& each : all.kernels) {
    if (std::ranges::find(names, each.name) == names.end()) names.push_back(each.name);
    if (each.is_template && example.empty()) example = each.name;
  }
  if (names.empty()) throw UsageError(file + " has no kernel: no function in it is __global__");
  const std::string hint = example.empty()
                               ? std::string()
                               : fmt::format(" (a template needs its arguments, as {}<float>)", example);
  throw UsageError(fmt::format("{} has no kernel {}; it has {}{}", file, kernel, joined(names), hint));
}

}  // namespace jitterscope
