#include "import/onnx_file.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include "jitterscope/error.hpp"
#include "onnx.pb.h"
#include "operation/words.hpp"

// Reads an ONNX file, unfolds its functions and reads small tensors from the files beside it.

namespace onnx {
class ModelProto;
}

namespace jitterscope {

/// Replaces each call of a function by the function's operators, nested functions too. Values of a body get
/// new names; its operators' names begin with the caller's. Throws UsageError that names the file if a
/// function calls itself, or if they unfold to more operators than any network has.
void unfold_functions(onnx::ModelProto& model, std::string_view file_name);

// Tensors may lie in other files beside an ONNX file; exporters do this with large weights.

/// The place of a tensor's bytes, as the file gives it.
struct OutsidePlace {
  std::string location;  ///< a file, relative to the model's folder
  std::string offset, length;
};

/// Bytes from a file beside a model, or the reason why there are none.
struct OutsideBytes {
  std::string bytes;
  std::string problem;  ///< completes "the numbers of 'x' are in data.bin, "
};

/// Reads `size` bytes and no more. Does not open a location outside of the model's folder, or one that is no
/// plain file.
OutsideBytes read_outside(std::string_view model_file, const OutsidePlace& place, std::size_t size);

namespace {

// Shapes, axes and limits of Clip are far smaller than this; weights are not read.
constexpr std::int64_t kMostValues = 64;

template <class Number>
void read_raw(const std::string& bytes, std::vector<double>& values) {
  for (std::size_t at = 0; at + sizeof(Number) <= bytes.size(); at += sizeof(Number)) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    values.push_back(static_cast<double>(number));
  }
}

// FLOAT16 and BFLOAT16 are stored as their bits.
double half_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  const double any = exponent == 31 ? std::numeric_limits<double>::infinity() : size;
  return (bits >> 15) != 0 ? -any : any;
}
double bfloat_of(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

struct ElementType {
  std::int32_t type;
  std::size_t bytes;
  void (*read)(const std::string& bytes, std::vector<double>& values);
  double (*number_of)(std::uint16_t bits) = nullptr;  ///< for numbers that are stored as bits
};
constexpr ElementType kElementTypes[] = {
    {onnx::TensorProto::BOOL, 1, read_raw<std::uint8_t>},
    {onnx::TensorProto::INT8, 1, read_raw<std::int8_t>},
    {onnx::TensorProto::UINT8, 1, read_raw<std::uint8_t>},
    {onnx::TensorProto::INT16, 2, read_raw<std::int16_t>},
    {onnx::TensorProto::UINT16, 2, read_raw<std::uint16_t>},
    {onnx::TensorProto::INT32, 4, read_raw<std::int32_t>},
    {onnx::TensorProto::UINT32, 4, read_raw<std::uint32_t>},
    {onnx::TensorProto::INT64, 8, read_raw<std::int64_t>},
    {onnx::TensorProto::UINT64, 8, read_raw<std::uint64_t>},
    {onnx::TensorProto::FLOAT, 4, read_raw<float>},
    {onnx::TensorProto::DOUBLE, 8, read_raw<double>},
    {onnx::TensorProto::FLOAT16, 2, read_raw<std::uint16_t>, half_of},
    {onnx::TensorProto::BFLOAT16, 2, read_raw<std::uint16_t>, bfloat_of}};

// Returns null for types whose numbers are not read.
const ElementType* find_type(std::int32_t element_type) {
  const auto* const found = std::ranges::find(kElementTypes, element_type, &ElementType::type);
  return found == std::end(kElementTypes) ? nullptr : found;
}

std::vector<double> values_of(const onnx::TensorProto& tensor) {
  std::vector<double> values;
  values.insert(values.end(), tensor.int64_data().begin(), tensor.int64_data().end());
  values.insert(values.end(), tensor.int32_data().begin(), tensor.int32_data().end());
  values.insert(values.end(), tensor.uint64_data().begin(), tensor.uint64_data().end());
  values.insert(values.end(), tensor.float_data().begin(), tensor.float_data().end());
  values.insert(values.end(), tensor.double_data().begin(), tensor.double_data().end());
  const ElementType* type = find_type(tensor.data_type());
  if (type != nullptr) type->read(tensor.raw_data(), values);
  if (type == nullptr || type->number_of == nullptr) return values;
  for (double& value : values)
    value = type->number_of(static_cast<std::uint16_t>(static_cast<std::int64_t>(value)));
  return values;
}

OutsidePlace outside_place(const onnx::TensorProto& tensor) {
  OutsidePlace place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = entry.value();
    if (entry.key() == "length") place.length = entry.value();
  }
  return place;
}

/// Reads the messages of a file, and notes which numbers are missing beside it.
class FileReader {
 public:
  explicit FileReader(std::string_view file_name) : file_name_(file_name) {}

  OnnxTensor tensor(const onnx::TensorProto& tensor) {
    OnnxTensor result{tensor.name(), tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}, {}};
    std::int64_t count = 1;
    for (const std::int64_t size : result.shape) {
      if (size < 0 || size > kMostValues) return result;
      count *= size;
      if (count > kMostValues) return result;
    }
    std::vector<double> values;
    if (tensor.external_data_size() > 0) {
      values = values_outside(tensor, count);
    } else {
      values = values_of(tensor);
    }
    if (static_cast<std::int64_t>(values.size()) == count) result.values = std::move(values);
    return result;
  }

  OnnxNode node(const onnx::NodeProto& node) {
    OnnxNode result{node.name(),
                    node.op_type(),
                    node.domain(),
                    {node.input().begin(), node.input().end()},
                    {node.output().begin(), node.output().end()},
                    {}};
    for (const onnx::AttributeProto& attribute : node.attribute())
      result.attributes.emplace(attribute.name(), this->attribute(attribute));
    return result;
  }

  std::vector<std::string> missing() const {
    std::vector<std::string> sentences;
    for (const auto& [where, names] : missing_) {
      const auto& [location, problem] = where;
      sentences.push_back(fmt::format("The numbers of {}{} are in {}, {}.", in_quotes(names.front()),
                                      names.size() == 1 ? "" : fmt::format(" and {} more", names.size() - 1),
                                      in_quotes(location), problem));
    }
    return sentences;
  }

 private:
  std::vector<double> values_outside(const onnx::TensorProto& tensor, std::int64_t count) {
    const OutsidePlace place = outside_place(tensor);
    const ElementType* type = find_type(tensor.data_type());
    const std::size_t size = type == nullptr ? 0 : static_cast<std::size_t>(count) * type->bytes;
    if (size == 0) return {};
    OutsideBytes read = read_outside(file_name_, place, size);
    if (!read.problem.empty()) {
      // Biases and other vectors of real numbers are not needed.
      if (!is_floating(tensor.data_type()) || tensor.dims().empty())
        missing_[{place.location, read.problem}].push_back(tensor.name());
      return {};
    }
    onnx::TensorProto whole;
    whole.set_data_type(tensor.data_type());
    whole.set_raw_data(std::move(read.bytes));
    return values_of(whole);
  }

  OnnxAttribute attribute(const onnx::AttributeProto& attribute) {
    OnnxAttribute result;
    if (attribute.has_i()) result.integer = attribute.i();
    if (attribute.has_f()) result.real = attribute.f();
    result.text = attribute.s();
    result.integers.assign(attribute.ints().begin(), attribute.ints().end());
    result.reals.assign(attribute.floats().begin(), attribute.floats().end());
    if (attribute.has_t()) result.tensor = tensor(attribute.t());
    if (attribute.has_g()) result.branch = branch(attribute.g());
    return result;
  }

  // Protobuf limits the nesting of branches: it reads messages to a depth of 100.
  std::shared_ptr<const OnnxBranch> branch(const onnx::GraphProto& graph) {
    auto result = std::make_shared<OnnxBranch>();
    for (const onnx::NodeProto& each : graph.node()) result->nodes.push_back(node(each));
    for (const onnx::TensorProto& weight : graph.initializer()) result->weights.push_back(tensor(weight));
    for (const onnx::ValueInfoProto& output : graph.output()) result->outputs.push_back(output.name());
    return result;
  }

  std::string file_name_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> missing_;  // by place and problem
};

// Returns an axis name that an option can use: exporters write "batch size", "s0 + 1" and the like.
std::string typable(std::string name) {
  for (char& letter : name) {
    const bool is_kept = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                         (letter >= '0' && letter <= '9') || letter == '_' || letter == '.' || letter == '-';
    if (!is_kept) letter = '_';
  }
  const bool is_option = name == "dtype" || name == "layout" || name == "direction";
  return is_option ? name + "_" : name;
}

OnnxValueInfo read_value(const onnx::ValueInfoProto& value) {
  OnnxValueInfo result{value.name(), value.type().tensor_type().elem_type(), {}};
  if (!value.type().tensor_type().has_shape()) return result;
  result.shape.emplace();
  for (const auto& dimension : value.type().tensor_type().shape().dim()) {
    OnnxDimension read;
    // Some exporters write 0 or -1 for an unknown size.
    if (dimension.has_dim_value() && dimension.dim_value() > 0) read.size = dimension.dim_value();
    read.name = typable(dimension.dim_param());
    result.shape->push_back(std::move(read));
  }
  return result;
}

std::vector<OnnxValueInfo> read_values(
    const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
  std::vector<OnnxValueInfo> result;
  for (const onnx::ValueInfoProto& value : values) result.push_back(read_value(value));
  return result;
}

const OnnxAttribute* find(const OnnxNode& node, const std::string& name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : &found->second;
}

}  // namespace

bool is_floating(std::int32_t element_type) {
  const ElementType* type = find_type(element_type);
  return type != nullptr && (type->number_of != nullptr || element_type == onnx::TensorProto::FLOAT ||
                             element_type == onnx::TensorProto::DOUBLE);
}

std::int64_t OnnxNode::integer(const std::string& attribute, std::int64_t otherwise) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found && found->integer ? *found->integer : otherwise;
}

double OnnxNode::real(const std::string& attribute, double otherwise) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found && found->real ? *found->real : otherwise;
}

std::string OnnxNode::text(const std::string& attribute) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found ? found->text : "";
}

std::vector<std::int64_t> OnnxNode::integers(const std::string& attribute) const {
  const OnnxAttribute* found = find(*this, attribute);
  return found ? found->integers : std::vector<std::int64_t>{};
}

std::vector<std::string> OnnxNode::all_inputs() const {
  std::vector<std::string> all = inputs;
  for (const auto& [of_attribute, attribute] : attributes) {
    if (!attribute.branch) continue;
    std::set<std::string> own;  // values that the branch defines
    std::vector<std::string> read = attribute.branch->outputs;
    for (const OnnxTensor& weight : attribute.branch->weights) own.insert(weight.name);
    for (const OnnxNode& node : attribute.branch->nodes) {
      own.insert(node.outputs.begin(), node.outputs.end());
      const std::vector<std::string> inner = node.all_inputs();
      read.insert(read.end(), inner.begin(), inner.end());
    }
    std::copy_if(read.begin(), read.end(), std::back_inserter(all),
                 [&](const std::string& each) { return !own.contains(each); });
  }
  return all;
}

OnnxFile read_onnx_file(std::string_view bytes, std::string_view file_name) {
#if GOOGLE_PROTOBUF_VERSION < 4022000
  // Protobuf's own lines on standard error do not help users of this program.
  google::protobuf::SetLogHandler(nullptr);
#endif
  onnx::ModelProto model;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw UsageError(fmt::format("{}: over 2 GiB; save its weights as external data", file_name));
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw UsageError(fmt::format("{}: not an ONNX file, or it ends too early", file_name));
  if (!model.has_graph() || model.graph().node().empty())
    throw UsageError(fmt::format("{}: this ONNX file has no graph of operators", file_name));
  unfold_functions(model, file_name);
  FileReader reader(file_name);
  OnnxFile file;
  for (const auto& opset : model.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") file.opset = opset.version();
  }
  file.producer = model.producer_name();
  const onnx::GraphProto& graph = model.graph();
  for (const onnx::NodeProto& node : graph.node()) file.nodes.push_back(reader.node(node));
  for (const onnx::TensorProto& weight : graph.initializer()) file.weights.push_back(reader.tensor(weight));
  file.inputs = read_values(graph.input());
  file.outputs = read_values(graph.output());
  file.values = read_values(graph.value_info());
  file.missing = reader.missing();
  return file;
}

namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

// A file that unfolds to more was made to fill the memory: GPT-3 has some 10,000 operators.
constexpr std::size_t kMostUnfolded = 1 << 18;
constexpr std::size_t kDeepestFunction = 64, kLongestPath = 200;

// Fields of ONNX's schema since 1.13 and 1.16. They are read from the message's bytes, because the schema of
// Debian 12 is older and keeps them as unknown fields.
constexpr int kDefaultsOfFunction = 11, kOverloadOfFunction = 13, kOverloadOfNode = 8;

template <class Message>
std::vector<std::string> texts_of_field(const Message& message, int field) {
  const std::string bytes = message.SerializeAsString();
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  constexpr std::uint32_t kNumber = 0, kText = 2, kWireTypes = 8;
  std::vector<std::string> texts;
  while (const std::uint32_t tag = input.ReadTag()) {
    std::uint64_t number = 0;
    std::uint32_t size = 0;
    std::string text;
    if (tag % kWireTypes == kNumber) {
      if (!input.ReadVarint64(&number)) break;
    } else if (tag % kWireTypes != kText || !input.ReadVarint32(&size) ||
               !input.ReadString(&text, static_cast<int>(size))) {
      break;
    }
    if (tag % kWireTypes == kText && tag / kWireTypes == static_cast<std::uint32_t>(field))
      texts.push_back(std::move(text));
  }
  return texts;
}

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

struct Function {
  const onnx::FunctionProto* body = nullptr;
  std::string overload;
  std::map<std::string, onnx::AttributeProto> defaults;
};

Function read_function(const onnx::FunctionProto& body) {
  Function function{&body, "", {}};
  for (std::string& overload : texts_of_field(body, kOverloadOfFunction))
    function.overload = std::move(overload);
  for (const std::string& bytes : texts_of_field(body, kDefaultsOfFunction)) {
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(bytes)) function.defaults.emplace(attribute.name(), attribute);
  }
  return function;
}

class Unfolder {
 public:
  Unfolder(const onnx::ModelProto& model, std::string_view file_name) : file_name_(file_name) {
    for (const onnx::FunctionProto& body : model.functions())
      functions_[{domain_of(body.domain()), body.name()}].push_back(read_function(body));
  }

  void unfold(Nodes& nodes) {
    Nodes unfolded;
    for (const onnx::NodeProto& node : nodes) add(node, unfolded);
    nodes = std::move(unfolded);
  }

 private:
  const Function* function_of(const onnx::NodeProto& node) const {
    const auto found = functions_.find({domain_of(node.domain()), node.op_type()});
    if (found == functions_.end()) return nullptr;
    if (found->second.size() == 1) return &found->second.front();
    const std::vector<std::string> overloads = texts_of_field(node, kOverloadOfNode);
    const std::string overload = overloads.empty() ? "" : overloads.back();
    const auto same = [&](const Function& function) { return function.overload == overload; };
    const auto chosen = std::find_if(found->second.begin(), found->second.end(), same);
    return chosen == found->second.end() ? nullptr : &*chosen;
  }

  void add(const onnx::NodeProto& node, Nodes& unfolded) {
    if (++steps_ > kMostUnfolded) {
      throw UsageError(
          fmt::format("{}: its functions unfold to more than {} operators; is it damaged? Export it without "
                      "functions",
                      file_name_, kMostUnfolded));
    }
    const Function* function = function_of(node);
    if (function == nullptr) {
      onnx::NodeProto& kept = *unfolded.Add();
      kept = node;
      for (onnx::AttributeProto& attribute : *kept.mutable_attribute()) {
        if (attribute.has_g()) unfold(*attribute.mutable_g()->mutable_node());
      }
      return;
    }
    const bool calls_itself = std::find(active_.begin(), active_.end(), function) != active_.end();
    if (calls_itself || active_.size() == kDeepestFunction) {
      throw UsageError(fmt::format("{}: its function {} {}, which no operator can do; export it again",
                                   file_name_, in_quotes(node.op_type()),
                                   calls_itself ? "calls itself" : "lies too deep within others"));
    }
    active_.push_back(function);
    add_body(node, *function, unfolded);
    active_.pop_back();
  }

  void add_body(const onnx::NodeProto& call, const Function& function, Nodes& unfolded) {
    const onnx::FunctionProto& body = *function.body;
    const std::string prefix = fmt::format("{}#{}/", body.name().substr(0, kLongestPath), ++bodies_);
    const std::string path = (call.name().empty() ? call.op_type() : call.name()).substr(0, kLongestPath);
    std::map<std::string, std::string> names = {{"", ""}};
    for (int i = 0; i < body.input_size(); ++i)
      names[body.input(i)] = i < call.input_size() ? call.input(i) : "";
    for (int i = 0; i < body.output_size() && i < call.output_size(); ++i) {
      if (!call.output(i).empty() && !names.try_emplace(body.output(i), call.output(i)).second)
        add_alias(names[body.output(i)], call.output(i), unfolded);
    }
    const Namer named = [&](std::string& name) {
      name = names.try_emplace(name, prefix + name).first->second;
    };
    for (const onnx::NodeProto& inner : body.node()) {
      onnx::NodeProto node = inner;
      node.set_name(path + "/" + (inner.name().empty() ? inner.op_type() : inner.name()));
      rename(node, named);
      give_attributes(node, call, function);
      add(node, unfolded);
    }
  }

  using Namer = std::function<void(std::string&)>;
  // Renames the branches' values too: branches see the values around them.
  static void rename(onnx::NodeProto& node, const Namer& named) {
    for (std::string& input : *node.mutable_input()) named(input);
    for (std::string& output : *node.mutable_output()) named(output);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      onnx::GraphProto& graph = *attribute.mutable_g();
      for (onnx::NodeProto& inner : *graph.mutable_node()) rename(inner, named);
      for (onnx::TensorProto& weight : *graph.mutable_initializer()) named(*weight.mutable_name());
      for (onnx::ValueInfoProto& output : *graph.mutable_output()) named(*output.mutable_name());
    }
  }

  // Adds an alias for an output that is also an input of the function, or that is returned twice.
  static void add_alias(const std::string& from, const std::string& to, Nodes& unfolded) {
    onnx::NodeProto& alias = *unfolded.Add();
    alias.set_op_type("Identity");
    alias.add_input(from);
    alias.add_output(to);
  }

  // Resolves attributes that refer to the caller's. One that is given nowhere is left out.
  static void give_attributes(onnx::NodeProto& node, const onnx::NodeProto& call, const Function& function) {
    google::protobuf::RepeatedPtrField<onnx::AttributeProto> given;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      const std::string& asked = attribute.ref_attr_name();
      if (asked.empty()) {
        *given.Add() = attribute;
        continue;
      }
      const auto of_call = std::find_if(call.attribute().begin(), call.attribute().end(),
                                        [&](const onnx::AttributeProto& one) { return one.name() == asked; });
      const auto usual = function.defaults.find(asked);
      if (of_call == call.attribute().end() && usual == function.defaults.end()) continue;
      onnx::AttributeProto& value = *given.Add();
      value = of_call != call.attribute().end() ? *of_call : usual->second;
      value.set_name(attribute.name());
    }
    *node.mutable_attribute() = std::move(given);
  }

  std::string file_name_;
  std::map<std::pair<std::string, std::string>, std::vector<Function>> functions_;  // by domain and name
  std::vector<const Function*> active_;
  std::size_t steps_ = 0, bodies_ = 0;
};

}  // namespace

void unfold_functions(onnx::ModelProto& model, std::string_view file_name) {
  if (model.functions().empty()) return;
  Unfolder(model, file_name).unfold(*model.mutable_graph()->mutable_node());
}

namespace {

namespace fs = std::filesystem;

// Returns 0 for an empty text, nullopt for one that is no number.
std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty()) return 0;
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

bool leaves_folder(const fs::path& location) {
  return location.is_absolute() ||
         std::any_of(location.begin(), location.end(), [](const fs::path& part) { return part == ".."; });
}

}  // namespace

OutsideBytes read_outside(std::string_view model_file, const OutsidePlace& place, std::size_t size) {
  const fs::path location(place.location);
  const std::optional<std::uint64_t> offset = number_in(place.offset), length = number_in(place.length);
  if (location.empty()) return {"", "a file that it does not name"};
  if (leaves_folder(location)) return {"", "which lies outside of the model's folder and is not read"};
  if (!offset || !length || (!place.length.empty() && *length != size))
    return {"", "at a place or of a size that they cannot have"};
  fs::path folder = fs::path(model_file).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code error;
  const fs::path file = folder / location;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) {
    return {"", fmt::format("which is not beside the model, in {}: put it there",
                            printable(folder.string(), 200))};
  }
  if (!fs::is_regular_file(status)) return {"", "which is not a plain file"};
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(size, '\0');
  stream.seekg(static_cast<std::streamoff>(std::min<std::uint64_t>(*offset, 1ULL << 62)));
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::size_t>(stream.gcount()) != size)
    return {"", "which ends before them, or may not be read: was it copied in full?"};
  return {std::move(bytes), ""};
}

}  // namespace jitterscope
