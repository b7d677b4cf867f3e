#include "operation/model.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::usage_message;
namespace fs = std::filesystem;

std::string file_with(const std::string& layers) {
  return R"({"format": "jitterscope-model", "version": 1, "name": "m", "description": "d", "layers": )" +
         layers + "}";
}
std::string problem_of_model(const std::string& text) {
  return usage_message([&] { read_model(text, "m.json"); });
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Model, ReadsLayersInOrderAndMergesEqualOnes) {
  const Model model = read_model(file_with(R"([{"operation": "add:count=1Ki", "names": ["a", "b"]},
                                               {"operation": "spin:ns=1", "names": ["c"]},
                                               {"operation": "add:count=1024", "names": ["d"]}])"),
                                 "m.json");
  EXPECT_EQ(model.name, "m");
  EXPECT_EQ(model.description, "d");
  ASSERT_EQ(model.layers.size(), 2u);
  EXPECT_THAT(model.layers[0].names, ElementsAre("a", "b", "d"));
  EXPECT_EQ(model.layers[0].count(), 3);
  EXPECT_EQ(model.layers[1].operation, Operation::parse("spin:ns=1"));
}

TEST(Model, BrokenJsonNamesTheLine) {
  EXPECT_THAT(problem_of_model("{\n\n  \"format\": \n  oops}"),
              AllOf(HasSubstr("m.json: line 4:"), HasSubstr("not valid JSON: syntax error")));
  EXPECT_THAT(problem_of_model("{\n\"a\": \"unended\n\"}"), HasSubstr("m.json: line 2:"));
  EXPECT_THAT(problem_of_model("{\n\n"), HasSubstr("m.json: line 3:"));
  EXPECT_THAT(problem_of_model(""), HasSubstr("m.json: line 1:"));
}

TEST(Model, MessagesStayReadableForDamagedFiles) {
  EXPECT_THAT(problem_of_model(R"({"version": 1e999})"),
              AllOf(HasSubstr("m.json: not a model"), HasSubstr("'1e999'")));
  const std::string message = problem_of_model("{\"\xc3\xa4\x7f" + std::string(10'000, 'x'));
  EXPECT_THAT(message, HasSubstr("line 1"));
  EXPECT_LT(message.size(), 300u);
  EXPECT_EQ(message.find('\x7f'), std::string::npos);
}

TEST(Model, WrongFieldsAreNamedByPointer) {
  const std::string good = file_with(R"([{"operation": "spin:ns=1", "names": ["c"]}])");
  ASSERT_EQ(problem_of_model(good), "");
  EXPECT_THAT(problem_of_model("[]"),
              AllOf(HasSubstr("m.json: /:"), HasSubstr("object"), HasSubstr("this is array")));
  EXPECT_THAT(problem_of_model(replaced(good, "jitterscope-model", "onnx")),
              HasSubstr("/format: \"jitterscope-model\""));
  EXPECT_THAT(problem_of_model(replaced(good, "\"version\": 1", "\"version\": 2")),
              HasSubstr("/version: 1 was expected"));
  EXPECT_THAT(problem_of_model(replaced(good, "\"version\": 1, ", "")),
              HasSubstr("/: the field 'version' is missing"));
  EXPECT_THAT(problem_of_model(replaced(good, "\"d\"", "5")),
              HasSubstr("/description: a string was expected, this is number"));
  EXPECT_THAT(problem_of_model(replaced(good, "\"m\"", "\"\"")),
              HasSubstr("/name: a string that is not empty"));
  EXPECT_THAT(problem_of_model(replaced(good, "layers", "layerz")),
              AllOf(HasSubstr("'layerz'"), HasSubstr("'layers'")));
  EXPECT_THAT(problem_of_model(file_with("[]")), HasSubstr("/layers: an array with at least one element"));
  EXPECT_THAT(problem_of_model(file_with("7")), HasSubstr("/layers: an array was expected, this is number"));
  EXPECT_THAT(problem_of_model(file_with(R"([{"operation": "spin:ns=1", "names": []}])")),
              HasSubstr("/layers/0/names:"));
  EXPECT_THAT(problem_of_model(file_with(R"([{"operation": "spin:ns=1", "names": ["a", 5]}])")),
              HasSubstr("/layers/0/names/1: a string was expected"));
  EXPECT_THAT(
      problem_of_model(file_with(R"([{"operation": "spin:ns=1", "names": ["a"]}, {"names": ["b"]}])")),
      HasSubstr("/layers/1: the field 'operation' is missing"));
  EXPECT_THAT(problem_of_model(file_with(R"([{"operation": "spin:nz=1", "names": ["a"]}])")),
              AllOf(HasSubstr("/layers/0/operation:"), HasSubstr("did you mean 'ns'")));
}

TEST(Model, MayNameItsSchema) {
  const std::string good = file_with(R"([{"operation": "spin:ns=1", "names": ["c"]}])");
  EXPECT_EQ(problem_of_model(replaced(good, "{", R"({"$schema": "../docs/model.schema.json", )")), "");
  EXPECT_THAT(problem_of_model(replaced(good, "{", R"({"$schema": 1, )")),
              HasSubstr("/$schema: a string was expected"));
  EXPECT_THAT(problem_of_model(replaced(good, "\"version\": 1, ", "")), HasSubstr("docs/model.schema.json"));
}

TEST(Model, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_NE(problem_of_model(std::string(100'000, '[')), "");
  EXPECT_NE(problem_of_model(std::string(100'000, '[') + std::string(100'000, ']')), "");
}

TEST(Model, FilesThatCannotBeReadAreNamed) {
  EXPECT_THAT(usage_message([] { load_model("/nowhere/model.json"); }),
              AllOf(HasSubstr("/nowhere/model.json"), HasSubstr("cannot be read")));
  EXPECT_THAT(usage_message([] { load_model("/"); }), HasSubstr("cannot be read"));
}

// Sets the variable for one test.
class ModelFolders : public ::testing::Test {
 protected:
  ModelFolders() {
    fs::create_directories(folder_ / "second");
    setenv("JITTERSCOPE_MODELS",
           ("/nowhere::" + folder_.string() + ":" + (folder_ / "second").string()).c_str(), 1);
  }
  ~ModelFolders() override {
    unsetenv("JITTERSCOPE_MODELS");
    fs::remove_all(folder_);
  }
  void write(const fs::path& file) { std::ofstream(folder_ / file) << "{}"; }

  fs::path folder_ = fs::temp_directory_path() / ("jitterscope-models-" + std::to_string(getpid()));
};

TEST_F(ModelFolders, TheEnvironmentComesFirst) {
  write("resnet18.json");
  write("second/resnet18.json");
  write("second/mine.json");
  write("second/notes.txt");
  EXPECT_EQ(find_model("resnet18"), folder_ / "resnet18.json");
  EXPECT_EQ(find_model("mine"), folder_ / "second/mine.json");
  EXPECT_EQ(find_model("notes"), std::nullopt);
  EXPECT_EQ(find_model("second/mine"), std::nullopt);
  EXPECT_EQ(find_model("none"), std::nullopt);
  EXPECT_EQ(find_model(""), std::nullopt);
  EXPECT_THAT(model_names(), AllOf(Contains("mine"), Contains("resnet18").Times(1)));
}

}  // namespace
}  // namespace jitterscope
