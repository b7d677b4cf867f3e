#include "import/onnx_einsum.hpp"

#include <algorithm>
#include <cctype>

namespace jitterscope::onnx_import {
namespace {

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
  std::map<char, std::int64_t> sizes;  // of each letter
};

bool is_term(const std::string& term) {
  const auto is_letter = [](char letter) { return std::isalpha(static_cast<unsigned char>(letter)) != 0; };
  std::string letters = term;
  std::sort(letters.begin(), letters.end());
  return std::all_of(term.begin(), term.end(), is_letter) &&
         std::adjacent_find(letters.begin(), letters.end()) == letters.end();
}

std::optional<Equation> parse(const OnnxNode& node) {
  std::string text = node.text("equation");
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  Equation equation;
  equation.output = text.substr(arrow + 2);
  std::string terms = text.substr(0, arrow) + ',';
  for (std::size_t end = terms.find(','); end != std::string::npos; end = terms.find(',')) {
    equation.inputs.push_back(terms.substr(0, end));
    terms.erase(0, end + 1);
  }
  const bool all_terms =
      is_term(equation.output) && std::all_of(equation.inputs.begin(), equation.inputs.end(), is_term);
  return all_terms && equation.inputs.size() == node.inputs.size() ? std::optional(equation) : std::nullopt;
}

std::optional<Equation> read(Import& import, const OnnxNode& node) {
  std::optional<Equation> equation = parse(node);
  if (!equation) return std::nullopt;
  for (std::size_t i = 0; i < equation->inputs.size(); ++i) {
    const std::optional<Shape>& shape = import.shape(node.inputs[i]);
    const std::string& letters = equation->inputs[i];
    if (!shape || shape->size() != letters.size()) return std::nullopt;
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
      if (equation->sizes.emplace(letters[axis], (*shape)[axis]).first->second != (*shape)[axis])
        return std::nullopt;
    }
  }
  const auto has_size = [&](char letter) { return equation->sizes.contains(letter); };
  return std::all_of(equation->output.begin(), equation->output.end(), has_size) ? equation : std::nullopt;
}

}  // namespace

std::optional<Shape> einsum_shape(Import& import, const OnnxNode& node) {
  const std::optional<Equation> equation = read(import, node);
  if (!equation) return std::nullopt;
  Shape shape;
  for (const char letter : equation->output) shape.push_back(equation->sizes.at(letter));
  return shape;
}

std::optional<EinsumProduct> einsum_product(Import& import, const OnnxNode& node) {
  const std::optional<Equation> equation = read(import, node);
  if (!equation || equation->inputs.size() != 2 || equation->output.size() < 2) return std::nullopt;
  const std::string &a = equation->inputs[0], &b = equation->inputs[1];
  const std::size_t leading = equation->output.size() - 2;
  if (a.size() != leading + 2 || b.size() != a.size()) return std::nullopt;
  const std::string batch = equation->output.substr(0, leading);
  if (a.substr(0, leading) != batch || b.substr(0, leading) != batch) return std::nullopt;
  const char m = equation->output[leading], n = equation->output[leading + 1];
  EinsumProduct product{.flips_left = a.back() == m, .flips_right = b.back() != n};
  const char k = product.flips_left ? a[leading] : a.back();
  const std::string left = product.flips_left ? std::string{k, m} : std::string{m, k};
  const std::string right = product.flips_right ? std::string{n, k} : std::string{k, n};
  if (k == n || a.substr(leading) != left || b.substr(leading) != right) return std::nullopt;
  for (const char letter : batch) product.batch = count_of({product.batch, equation->sizes.at(letter)});
  product.m = equation->sizes.at(m), product.n = equation->sizes.at(n), product.k = equation->sizes.at(k);
  return product;
}

}  // namespace jitterscope::onnx_import
