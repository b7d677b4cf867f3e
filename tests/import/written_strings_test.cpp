// Bytes that no JSON allows, and numbers as text, in records of PyTorch.
#include <gmock/gmock.h>

#include "import/imported.hpp"
#include "import/json.hpp"
#include "import/small_trace.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string mended(std::string text) {
  mend_strings(text.data(), text.size());
  return text;
}

TEST(MendedStrings, StayAsLongAsTheyWere) {
  EXPECT_EQ(mended("[\"a\tb\x1b[0m\n\"]"), "[\"a b [0m \"]");
  EXPECT_EQ(mended("[\"caf\xe9\", \"\xc3\xa9\xff\"]"), "[\"caf?\", \"\xc3\xa9?\"]");
  EXPECT_EQ(mended(R"(["C:\Users\me\u12","a\\\"b\n\u00e9"])"), R"(["C:/Users/me/u12","a\\\"b\n\u00e9"])");
  EXPECT_EQ(mended(R"(["\ud83d\ude00\ud83d","\ude00"])"), R"(["\ud83d\ude00\ufffd","\ufffd"])");
  EXPECT_EQ(mended("{\t\"a\":\n1\xff}"), "{\t\"a\":\n1\xff}");  // outside of strings
  EXPECT_EQ(mended("[\"a\\"), "[\"a/");                         // cut in the middle
}

TEST(WrittenStrings, AreReadWhateverTheyHold) {
  const std::string plain = trace_of({kSum, kLaunch, kKernel});
  const Model clean = profile(plain);
  EXPECT_THAT(clean.notes, IsEmpty());
  for (const auto& [name, read] : {std::pair("ad\tds", "ad ds"),
                                   std::pair("ad\x01"
                                             "ds",
                                             "ad ds"),
                                   std::pair("ad\xe9s", "ad?s"), std::pair("ad\xc3(", "ad?("),
                                   std::pair("a\\ds", "a/ds"), std::pair("a\\ud83d", "a\xef\xbf\xbd")}) {
    const std::string text = replaced_in(plain, {{"\"adds\"", "\"" + std::string(name) + "\""}});
    const Model model = profile(text);
    EXPECT_EQ(model.recorded_gpu_time, clean.recorded_gpu_time) << name;
    EXPECT_THAT(model.layers.at(0).recorded_kernels, ElementsAre(read));
    EXPECT_THAT(model.notes, ElementsAre(AllOf(HasSubstr("One byte"), HasSubstr("on line 1, byte "))));
  }
}

TEST(WrittenStrings, TheNoteSaysWhereTheFirstStands) {
  const std::string annotation =
      event("user_annotation", "b\xff\xfe", R"("ts":1,"dur":1)", R"("External id":1)");
  const std::string text = "{\n\"a\":\n1," + trace_of({kSum, annotation}).substr(1);
  const std::size_t place = text.find('\xff');
  EXPECT_THAT(profile(text).notes,
              ElementsAre(HasSubstr("without CUDA activities"),
                          AllOf(HasSubstr("2 bytes"),
                                HasSubstr("0xff on line 3, byte " + std::to_string(place + 1)))));
}

TEST(WrittenStrings, OfExecutionTracesAreReadAsWell) {
  std::string text = read_file(data_file("bert_et.json.gz")).text;
  const Model clean = import_execution_trace(text, "t.json");
  text.replace(text.find("execution_trace|thread"), 1, "\x02");
  text.replace(text.find("\"op_schema\"") + 1, 1, "\xff");
  const Model model = import_execution_trace(text, "t.json");
  EXPECT_EQ(model.calls.size(), clean.calls.size());
  EXPECT_THAT(model.notes.back(), HasSubstr("2 bytes"));
}

TEST(WrittenStrings, WhatIsBrokenOtherwiseIsRefusedWithItsPlace) {
  const auto problem_of = [](const std::string& text) { return usage_message([&] { profile(text); }); };
  const std::string plain = trace_of({kSum, kLaunch, kKernel});
  const std::string stray = replaced_in(plain, {{"\"args\"", "\n\xff\"args\""}});
  EXPECT_THAT(problem_of(stray),
              AllOf(HasSubstr("t.json: line 2, byte " + std::to_string(stray.find('\xff') + 1)),
                    HasSubstr("not valid JSON")));
  const std::string both = replaced_in(plain, {{"adds", "ad\nds"}, {"\"ts\":120", "\n\"ts\" 120"}});
  EXPECT_THAT(problem_of(both), AllOf(HasSubstr("line 3, byte "), HasSubstr("not valid JSON")));
}

TEST(WrittenStrings, AByteOrderMarkIsNoPartOfTheJson) {
  EXPECT_EQ(profile("\xef\xbb\xbf" + trace_of({kSum, kLaunch, kKernel})).recorded_gpu_time,
            Nanoseconds(2500));
}

// PyTorch writes inf, which JSON has not, among a kernel's arguments.
TEST(WrittenNumbers, OfAKernelMayBeInfinite) {
  const std::string kernel =
      replaced_in(kKernel, {{"\"correlation\"", "\"blocks per SM\":inf,\"correlation\""}});
  EXPECT_EQ(profile(trace_of({kSum, kLaunch, kernel})).layers.at(0).recorded_time(), Nanoseconds(2500));
}

TEST(WrittenNumbers, MayBeText) {
  const auto as_text = [](const std::string& each) {
    return replaced_in(each, {{"\"pid\":1", "\"pid\":\"1\""},
                              {"\"tid\":1", "\"tid\" : \"1\" "},
                              {"\"ts\":100.000", "\"ts\":\"100.000\""},
                              {"\"ts\":105", "\"ts\":\"105\""},
                              {"\"ts\":120", "\"ts\":1.2e2"},
                              {"\"dur\":10", "\"dur\":\"10\""},
                              {"\"dur\":2.5", "\"dur\":\"2.5\""},
                              {"\"correlation\":7", "\"correlation\":\"7\""},
                              {"[[4],[4],[]]", "[[\"4\"],[4.0],[]]"}});
  };
  const std::string kernel = as_text(kKernel);
  for (const std::vector<std::string>& events :
       {std::vector{as_text(kSum), as_text(kLaunch), kernel}, std::vector{as_text(kSum), kLaunch, kernel},
        std::vector{kSum, as_text(kLaunch), kernel}}) {
    const Model model = profile(trace_of(events));
    ASSERT_EQ(model.layers.size(), 1u);
    EXPECT_EQ(model.layers[0].operation, Operation::parse("add:count=4"));
    EXPECT_EQ(model.layers[0].recorded_time(), Nanoseconds(2500));
  }
}

TEST(WrittenNumbers, OfExecutionTracesMayBeTextAsWell) {
  const std::string text =
      R"json({"schema":"1.1.1-chakra.0.0.4","nodes":[{"id":"7","name":"aten::relu","ctrl_deps":"1",
 "inputs":{"values":[["1","2","0","32","4","cuda:0"]],"shapes":[["4","8"]],"types":["Tensor(float)"],"strides":[["8","1"]]},
 "outputs":{"values":[[5,6,0,32,4,"cuda:0"]],"shapes":[[4,8]],"types":["Tensor(float)"],"strides":[[8,1]]},
 "attrs":[]}]})json";
  const Model model = import_execution_trace(text, "t.json");
  ASSERT_EQ(model.calls.size(), 1u);
  EXPECT_EQ(model.calls[0].name, "aten::relu#7");
  EXPECT_EQ(model.layers[0].operation, Operation::parse("relu:count=32"));
}

}  // namespace
}  // namespace jitterscope
