#include "import/log_data.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <memory>
#include <set>

namespace jitterscope::testing {

std::string test_data(std::string_view name) {
  const std::string path = JITTERSCOPE_TEST_DATA "/" + std::string(name);
  // Reads files that are not compressed as they are.
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) {
    ADD_FAILURE() << "cannot open " << path;
    return {};
  }
  std::string text;
  char part[1 << 16];
  for (int count = gzread(file.get(), part, sizeof part); count > 0;
       count = gzread(file.get(), part, sizeof part)) {
    text.append(part, static_cast<std::size_t>(count));
  }
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t found = text.find(from);
  if (found == std::string::npos) {
    ADD_FAILURE() << "no '" << from << "' in the text";
    return text;
  }
  return text.replace(found, from.size(), to);
}

std::vector<std::string> operation_texts(const Model& model) {
  std::vector<std::string> texts;
  for (const Layer& layer : model.layers) texts.push_back(layer.operation.text());
  return texts;
}

std::string notes_of(const Model& model) {
  std::string notes;
  for (const std::string& note : model.notes) notes += note + "\n";
  return notes;
}

void expect_consistent(const Model& model) {
  std::set<std::string> texts;
  std::int64_t executions = 0;
  for (const Layer& layer : model.layers) {
    EXPECT_TRUE(texts.insert(layer.operation.text()).second) << layer.operation.text();
    executions += layer.count();
  }
  EXPECT_EQ(executions, static_cast<std::int64_t>(model.calls.size()));
  std::map<std::size_t, std::size_t> next_name;
  for (const Call& call : model.calls) {
    ASSERT_LT(call.layer, model.layers.size());
    ASSERT_LT(next_name[call.layer], model.layers[call.layer].names.size());
    EXPECT_EQ(call.name, model.layers[call.layer].names[next_name[call.layer]++]);
  }
}

}  // namespace jitterscope::testing
