#include "cli/reference_pages.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "device/virtual/open_virtual_device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "model/named_models.hpp"

namespace jitterscope::cli {
namespace {

using Blocks = std::vector<Block>;

void append(Blocks& blocks, Blocks more) { std::ranges::move(more, std::back_inserter(blocks)); }

// Makes a sentence of a description, which begins with a small letter and has no full stop.
std::string sentence(std::string text) {
  if (text.empty()) return text;
  return capitalised(text.ends_with('.') ? text : text + ".");
}

// Puts optional arguments in brackets, and adds an ellipsis to repeatable ones.
std::string argument_text(const OptionDescription& option) {
  std::string text = option.name + (option.takes_several ? "…" : "");
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return option.is_required ? text : "[" + text + "]";
}

std::string usage_line(const CommandDescription& command, const std::string& above) {
  if (!command.commands.empty()) return "jitterscope " + command.name + " COMMAND [FLAGS]";
  std::string line = "jitterscope " + above + command.name + " [FLAGS]";
  for (const OptionDescription& option : command.options) {
    // The words of a program are told from ours by dashes.
    if (option.is_argument) line += " " + (option.name == "command" ? "-- COMMAND…" : argument_text(option));
  }
  return line;
}

std::string option_text(const OptionDescription& option) {
  if (option.is_argument) return argument_text(option);
  return option.value.empty() ? option.name : option.name + " " + option.value;
}

ReferenceTable option_table(const CommandDescription& command) {
  ReferenceTable table{{"argument or flag", "meaning", "default"}, {}};
  for (const OptionDescription& option : command.options) {
    if (option.name == "--help") continue;
    std::string meaning = option.description;
    if (!option.words.empty()) meaning += fmt::format(" ({})", fmt::join(option.words, ", "));
    table.rows.push_back({option_text(option), meaning, option.default_value});
  }
  return table;
}

// `above` is "history " for the subcommands of history.
Blocks command_blocks(const CommandDescription& command, int level, const std::string& above = {}) {
  const Footer footer = read_footer(command.footer);
  Blocks blocks = {Heading{level, above + command.name}, CodeBlock{{usage_line(command, above)}, true},
                   Paragraph{sentence(command.description)}};
  if (command.commands.empty()) blocks.emplace_back(option_table(command));
  if (!footer.examples.empty()) {
    blocks.emplace_back(Paragraph{"Examples:"});
    blocks.emplace_back(CodeBlock{footer.examples});
  }
  for (const std::string& paragraph : footer.paragraphs) blocks.emplace_back(Paragraph{paragraph});
  for (const CommandDescription& below : command.commands) {
    append(blocks, command_blocks(below, level + 1, command.name + " "));
  }
  return blocks;
}

ReferenceTable environment_table() {
  return {
      {"variable", "meaning"},
      {{"JITTERSCOPE_JOB_TOKEN",
        "32 random digits, the same for each rank that meets at an address: it proves that a process is a rank"},
       {"JITTERSCOPE_LIBRARY", "libjitterscope.so for the Python module (default: the wheel's)"},
       {"JITTERSCOPE_LIBRARY_PATH",
        "folders, separated by colons, with NVIDIA's libraries, searched before the usual ones"},
       {"JITTERSCOPE_MODELS", "folders, separated by colons, with model files NAME.json to run by name"},
       {"JITTERSCOPE_NVML", "NVML's file (default: libnvidia-ml.so.1)"},
       {"JITTERSCOPE_PRESETS", "folders, separated by colons, with presets NAME.toml for virtual:NAME"},
       {"JITTERSCOPE_PROGRAM", "this program, for the Python module (default: the wheel's)"},
       {"JITTERSCOPE_PYTHON", "the Python that runs functions and draws pictures (default: python3)"},
       {"JITTERSCOPE_RECORDER",
        "libjitterscope_recorder.so for capture (default: beside the program or in ../lib/jitterscope)"},
       {"JITTERSCOPE_RENDEZVOUS",
        "where ranks meet, as --rendezvous says: file:FOLDER or tcp://HOST:PORT, the same for each rank"},
       {"JITTERSCOPE_REPORT", "folders, separated by colons, with the drawing library of pages"},
       {"JITTERSCOPE_SETTINGS", "TOML file with defaults for flags, as of --settings"},
       {"JITTERSCOPE_TORCH_PLUGIN", "the plug-in that runs PyTorch's own operators"},
       {"PYTHONPATH",
        "must name the folder python of the sources where the module is used from a build tree, without a wheel"}}};
}

Document commands_page(const CommandDescription& tool) {
  Document page{
      "Commands and flags",
      {Paragraph{
          "`jitterscope COMMAND --help` prints the same in a terminal. Write a flag's value as `--seed "
          "2` or `--seed=2`, and separate values in a list by commas."}}};
  for (const CommandDescription& command : tool.commands) append(page.blocks, command_blocks(command, 2));
  append(page.blocks, {Heading{2, "With every command"}, option_table(tool), Heading{2, "Environment"},
                       environment_table()});
  return page;
}

Blocks operation_blocks(const OperationHelp& help) {
  Blocks blocks = {Heading{2, help.kind}, Paragraph{sentence(help.summary)}};
  ReferenceTable table{{"parameter", "meaning", "default"}, {}};
  for (const ParameterHelp& parameter : help.parameters) {
    const std::string& value = parameter.default_value;
    table.rows.push_back({parameter.name, parameter.meaning, value.empty() ? "required" : value});
  }
  if (!table.rows.empty()) blocks.emplace_back(std::move(table));
  blocks.emplace_back(CodeBlock{{"jitterscope run " + in_shell(help.example)}});
  return blocks;
}

constexpr const char* kSweeps =
    "Any parameter takes a list or a range, and a run times all of them: `n=1,2,4`, `n=1..64*2` (doubled "
    "each time), `n=1..9+2` (two more each time). Numbers may end in k, M, G or T "
    "(powers of 1000) or in Ki, Mi, Gi or Ti (of 1024).";

Document operations_page(const CommandDescription&) {
  Document page{
      "Operations",
      {Paragraph{
           "Write an operation as `KIND:name=value,name=value`. A parameter with a default may be left out."},
       Paragraph{kSweeps}}};
  for (const OperationHelp& help : operation_help()) append(page.blocks, operation_blocks(help));
  return page;
}

ReferenceTable network_table() {
  ReferenceTable table{{"network", "default size and types", "options"}, {}};
  for (const ModelDescription& model : named_models()) {
    std::string options;
    for (const ParameterHelp& option : model.options) options += (options.empty() ? "" : ", ") + option.name;
    table.rows.push_back({model.name, model.sentence, options});
  }
  return table;
}

ReferenceTable network_option_table() {
  ReferenceTable table{{"option", "meaning", "default"}, {}};
  for (const ModelDescription& model : named_models()) {
    for (const ParameterHelp& option : model.options) {
      const auto is_known = [&](const auto& row) { return row.front() == option.name; };
      if (std::ranges::any_of(table.rows, is_known)) continue;
      table.rows.push_back({option.name, option.meaning, option.default_value});
    }
  }
  return table;
}

Document networks_page(const CommandDescription&) {
  return {
      "Networks by name",
      {Paragraph{"`jitterscope run NAME` times every layer, forward and backward, as PyTorch runs it in one "
                 "training step; `jitterscope list NAME` shows them. Options follow a colon."},
       CodeBlock{{"jitterscope run resnet50:batch=64,dtype=f16,layout=nhwc,direction=fprop",
                  "jitterscope list bert-base:batch=8,seq=512"}},
       network_table(), Heading{2, "Options"}, network_option_table()}};
}

Document presets_page(const CommandDescription&) {
  Document page{
      "Keys of a preset",
      {Paragraph{"A simulated GPU, `--device virtual:FILE.toml`, is a file of these tables. A key has its "
                 "unit at the end of its name. Where the first line is `base = \"h200\"`, or names another "
                 "preset, the file says only what differs."}}};
  std::string table;
  for (const virtual_gpu::PresetKey& key : virtual_gpu::preset_keys()) {
    if (key.table != table) {
      table = key.table;
      append(page.blocks, {Heading{2, "[" + table + "]"}, ReferenceTable{{"key", "value"}, {}}});
    }
    std::get<ReferenceTable>(page.blocks.back()).rows.push_back({key.name, key.expected});
  }
  page.blocks.insert(
      page.blocks.end(),
      {Heading{2, "Causes to switch off"},
       Paragraph{fmt::format("`virtual:PRESET,without=CAUSE+CAUSE` is the same GPU without them: {}.",
                             fmt::join(virtual_gpu::mechanism_names(), ", "))}});
  return page;
}

ReferenceTable exit_code_table() {
  constexpr std::pair<ExitCode, const char*> kMeanings[] = {
      {ExitCode::done, "done"},
      {ExitCode::check_failed, "a requested check failed"},
      {ExitCode::usage, "the command line is wrong, or asks for something impossible"},
      {ExitCode::missing, "a device or a library is missing"},
      {ExitCode::imprecise,
       "measured, but the precision of --precision was not reached, or no steady state was reached "
       "although --precision was given"},
      {ExitCode::failed,
       "the operation failed while it ran, part of a file is missing or damaged, or the output could not "
       "be written"},
      {ExitCode::interrupted, "interrupted (Ctrl-C); the results so far are printed"}};
  ReferenceTable table{{"code", "meaning"}, {}};
  for (const auto& [code, meaning] : kMeanings)
    table.rows.push_back({std::to_string(static_cast<int>(code)), meaning});
  return table;
}

Document exit_codes_page(const CommandDescription& tool) {
  constexpr std::string_view kLead = "Exit codes: ";
  ReferenceTable particulars{{"command", "its exit codes"}, {}};
  for (const CommandDescription& command : tool.commands) {
    for (const std::string& paragraph : read_footer(command.footer).paragraphs) {
      if (paragraph.starts_with(kLead))
        particulars.rows.push_back({command.name, paragraph.substr(kLead.size())});
    }
  }
  return {"Exit codes",
          {exit_code_table(), Paragraph{"What they mean for each command:"}, std::move(particulars)}};
}

ReferenceTable operation_table() {
  ReferenceTable table{{"operation", "what it does"}, {}};
  for (const OperationHelp& help : operation_help()) table.rows.push_back({help.kind, help.summary});
  return table;
}

}  // namespace

const std::vector<ReferencePage>& reference_pages() {
  static const std::vector<ReferencePage> pages = {{"commands", commands_page},
                                                   {"operations", operations_page},
                                                   {"networks", networks_page},
                                                   {"presets", presets_page},
                                                   {"exit-codes", exit_codes_page}};
  return pages;
}

Document manual_document(const CommandDescription& tool) {
  Document page{"jitterscope",
                {Heading{2, "Name"}, Paragraph{"jitterscope - " + tool.description}, Heading{2, "Synopsis"},
                 CodeBlock{{"jitterscope COMMAND [FLAGS] [ARGUMENTS]"}, true}, Heading{2, "Commands"}}};
  for (const CommandDescription& command : tool.commands) append(page.blocks, command_blocks(command, 3));
  append(page.blocks,
         {Heading{3, "With every command"}, option_table(tool), Heading{2, "Operations"},
          Paragraph{
              "Written as `KIND:name=value,name=value`; `jitterscope list operations` has the parameters."},
          operation_table(), Paragraph{kSweeps}, Heading{2, "Networks"}, network_table(),
          Paragraph{"Options follow a colon, as in `resnet50:batch=64,dtype=f16`:"}, network_option_table(),
          Heading{2, "Exit status"}, exit_code_table(), Heading{2, "Environment"}, environment_table()});
  return page;
}

namespace {

// Escapes marks of Markdown; between backticks only the bar of a table needs it.
std::string markdown_text(const std::string& text, bool in_table) {
  std::string result;
  bool is_code = false;
  for (const char c : text) {
    if (c == '`') is_code = !is_code;
    const bool is_mark = c == '*' || c == '<' || c == '\\';
    if ((is_mark && !is_code) || (c == '|' && in_table)) result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

struct MarkdownWriter {
  std::string text;

  void operator()(const Heading& heading) {
    text += std::string(static_cast<std::size_t>(heading.level), '#') + " " +
            markdown_text(heading.text, false) + "\n";
  }
  void operator()(const Paragraph& paragraph) { text += markdown_text(paragraph.text, false) + "\n"; }
  void operator()(const CodeBlock& block) {
    text += block.is_form ? "```text\n" : "```\n";
    for (const std::string& line : block.lines) text += line + "\n";
    text += "```\n";
  }
  void operator()(const ReferenceTable& table) {
    row(table.headings, false);
    for (std::size_t i = 0; i < table.headings.size(); ++i) text += "|---";
    text += "|\n";
    for (const std::vector<std::string>& cells : table.rows) row(cells, true);
  }
  void row(const std::vector<std::string>& cells, bool first_is_code) {
    text += "|";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_code = first_is_code && i == 0;
      text += " " + markdown_text(is_code ? "`" + cells[i] + "`" : cells[i], true) + " |";
    }
    text += "\n";
  }
};

}  // namespace

std::string markdown(const Document& document) {
  MarkdownWriter writer{"# " + document.title + "\n"};
  for (const Block& block : document.blocks) {
    writer.text += "\n";
    std::visit(writer, block);
  }
  return writer.text;
}

namespace {

// Escapes for roff: a typed minus is \-, and a quote or point at the start of a line would be a request.
std::string roff_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\': result += "\\e"; break;
      case '-': result += "\\-"; break;
      case '\'': result += "\\(aq"; break;
      case '`': result += "\\(ga"; break;
      case '^': result += "\\(ha"; break;
      case '~': result += "\\(ti"; break;
      default: result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

// Returns text with the words between backticks in bold.
std::string inline_text(const std::string& text) {
  std::string result;
  bool is_code = false;
  for (std::size_t begin = 0; begin <= text.size(); is_code = !is_code) {
    const std::size_t end = std::min(text.find('`', begin), text.size());
    const std::string part = roff_text(text.substr(begin, end - begin));
    result += is_code ? "\\fB" + part + "\\fR" : part;
    begin = end + 1;
  }
  return result;
}

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

struct RoffWriter {
  std::string text;
  bool follows_heading = false;  ///< .PP would then have no effect and cause a warning

  void operator()(const Heading& heading) {
    follows_heading = true;
    text += heading.level == 2 ? ".SH " + upper_case(roff_text(heading.text)) + "\n"
                               : ".SS " + roff_text(heading.text) + "\n";
  }
  void operator()(const Paragraph& paragraph) {
    begin_paragraph();
    text += inline_text(paragraph.text) + "\n";
  }
  void operator()(const CodeBlock& block) {
    begin_paragraph();
    text += ".RS 4\n.EX\n";
    for (const std::string& line : block.lines) text += roff_text(line) + "\n";
    text += ".EE\n.RE\n";
  }
  void operator()(const ReferenceTable& table) {
    follows_heading = false;
    for (const std::vector<std::string>& cells : table.rows) {
      text += ".TP\n\\fB" + roff_text(cells.front()) + "\\fR\n" + inline_text(cells.at(1));
      for (std::size_t i = 2; i < cells.size(); ++i) {
        if (!cells[i].empty()) text += fmt::format("; {}: {}", table.headings[i], inline_text(cells[i]));
      }
      text += "\n";
    }
  }
  void begin_paragraph() {
    if (!follows_heading) text += ".PP\n";
    follows_heading = false;
  }
};

}  // namespace

std::string manual_page(const Document& document, const std::string& version) {
  RoffWriter writer{fmt::format(".TH {} 1 \"\" \"jitterscope {}\" \"User commands\"\n.nh\n.ad l\n",
                                upper_case(document.title), roff_text(version))};
  for (const Block& block : document.blocks) std::visit(writer, block);
  return writer.text;
}

}  // namespace jitterscope::cli
