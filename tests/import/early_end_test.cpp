#include "import/json.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "import/import.hpp"
#include "import/imported.hpp"
#include "import/written_file.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::Contains;
using testing::data_file;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::usage_message;

const std::string kNamed =
    "The file ends early, in the middle of its JSON: only the part before is used, so counts are too small.";
const std::string kPacked = "The gzip file ends early; was it copied in full?";

class EarlyEndOfFile : public testing::WrittenFile {
 protected:
  Model import(const std::string& contents) const { return import_file(write(contents), {}); }
  static std::string bytes_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

std::string part_of(const std::string& text, double part) {
  return text.substr(0, static_cast<std::size_t>(part * static_cast<double>(text.size())));
}

TEST(OpenJson, EndsInAStringOrInBrackets) {
  for (const char* text : {"{", R"({"a": [1, {"b")", R"({"a": "x)", R"(["\"]", "{}")", "[[]"})
    EXPECT_TRUE(closed_json(text).has_value()) << text;
  for (const char* text : {"", "{}", R"({"a": [1, "]"]})", "[1}", "{}]"})
    EXPECT_FALSE(closed_json(text).has_value()) << text;
}

TEST(OpenJson, SaysWhichBracketIsWrong) {
  EXPECT_EQ(wrong_bracket(R"({"a": [1}])"), 8u);
  EXPECT_EQ(wrong_bracket(R"([{"a": "]}"}] ])"), 14u);
  EXPECT_EQ(wrong_bracket(R"({"a": [)"), std::nullopt);
}

TEST(OpenJson, IsClosedBehindItsLastWholeElement) {
  EXPECT_EQ(closed_json(R"({"v": [[1], {"a": [{}]}, {"b)"), R"({"v": [[1], {"a": [{}]}]})");
  EXPECT_EQ(closed_json(R"([{"a": "}"}, {"b": "\"}]"}, )"), R"([{"a": "}"}, {"b": "\"}]"}])");
  EXPECT_EQ(closed_json(R"({"of": [{}], "v": [{"a": 1)"), R"({"of": [{}]})");
  EXPECT_EQ(closed_json(R"({"v": {"a": 1}, "w": [1)"), "");
}

TEST_F(EarlyEndOfFile, ATraceGivesWhatItHoldsBefore) {
  for (const std::string name : {"../resnet18_et.json.gz", "resnet18_trace.json.gz"}) {
    const std::string whole = read_file(data_file(name)).text;
    const Model all = import(whole);
    EXPECT_THAT(all.notes, Not(Contains(kNamed)));
    EXPECT_FALSE(all.is_incomplete);
    std::size_t before = 0;
    for (const double part : {0.5, 0.9}) {
      const Model model = import(part_of(whole, part));
      EXPECT_EQ(model.notes.front(), kNamed);
      EXPECT_TRUE(model.is_incomplete);
      EXPECT_GT(model.calls.size(), before) << name << part;
      EXPECT_LT(model.calls.size(), all.calls.size()) << name << part;
      before = model.calls.size();
      for (const UntimedOperator& untimed : model.untimed) {
        EXPECT_NE(untimed.reason, "It launched nothing on the GPU.") << untimed.name;
      }
    }
    EXPECT_THAT(usage_message([&] { import(whole.substr(0, 300)); }), HasSubstr("file")) << name;
  }
}

TEST_F(EarlyEndOfFile, AnArchiveGivesWhatItHoldsBefore) {
  const Model trace = import(part_of(bytes_of(data_file("../resnet18_et.json.gz")), 0.9));
  EXPECT_EQ(trace.notes.at(0), kPacked);
  EXPECT_EQ(trace.notes.at(1), kNamed);
  EXPECT_FALSE(trace.calls.empty());
  const std::string log = bytes_of(data_file("../conv_linear_cudnn9.log.gz"));
  const Model half = import(part_of(log, 0.6));
  EXPECT_EQ(half.notes.front(), kPacked);
  EXPECT_LT(half.calls.size(), import(log).calls.size());
  EXPECT_THAT(usage_message([&] { import(part_of(log, 0.05)); }), HasSubstr("the gzip file ends early"));
  EXPECT_THAT(usage_message([&] { import(log.substr(0, 15)); }), HasSubstr("copied in full"));
}

}  // namespace
}  // namespace jitterscope
