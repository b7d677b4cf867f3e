#include <gmock/gmock.h>

#include "import/imported.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kWholeTraces = std::string(JITTERSCOPE_TEST_DATA) + "/..";

const std::string kProductNode = R"json(
{"id":7,"name":"aten::mm","ctrl_deps":1,
 "inputs":{"values":[[1,2,0,32,4,"cuda:0"],[3,4,0,16,4,"cuda:0"]],"shapes":[[4,8],[8,2]],
           "types":["Tensor(float)","Tensor(float)"],"strides":[[8,1],[2,1]]},
 "outputs":{"values":[[5,6,0,8,4,"cuda:0"]],"shapes":[[4,2]],"types":["Tensor(float)"],"strides":[[2,1]]},
 "attrs":[{"name":"op_schema","type":"string","value":"aten::mm(Tensor self, Tensor mat2) -> Tensor"}]})json";

std::string execution_trace_of(const std::vector<std::string>& nodes,
                               const std::string& schema = "1.1.1-chakra.0.0.4") {
  std::string text = R"({"schema":")" + schema + R"(","nodes":[)";
  for (const std::string& node : nodes) text += (text.back() == '[' ? "" : ",") + node;
  return text + "]}";
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}
Model import_trace(const std::string& text) { return import_execution_trace(text, "t.json"); }
std::string problem_of_trace(const std::string& text) {
  return usage_message([&] { import_trace(text); });
}

TEST(DamagedTrace, ThatEndsEarlySaysSo) {
  const std::string whole = read_file(kWholeTraces + "/resnet18_et.json.gz").text;
  const std::string profile = read_file(data_file("resnet18_trace.json.gz")).text;
  for (const double part : {0.001, 0.3, 0.77, 0.999}) {
    const auto cut = [&](const std::string& text) {
      std::string piece = text.substr(0, static_cast<std::size_t>(part * static_cast<double>(text.size())));
      while (piece.ends_with('}') || piece.ends_with(']') || piece.ends_with(' ') || piece.ends_with('\n'))
        piece.pop_back();
      return piece;
    };
    EXPECT_THAT(problem_of_trace(cut(whole)), AllOf(HasSubstr("t.json"), HasSubstr("ends early"))) << part;
    EXPECT_THAT(usage_message([&] { import_profiler_trace(cut(profile), "p.json"); }),
                AllOf(HasSubstr("p.json"), HasSubstr("ends early")))
        << part;
  }
}

TEST(DamagedTrace, ABrokenNodeIsNamedAndTheRestIsRead) {
  const std::string other = replaced(kProductNode, "\"id\":7", "\"id\":9");
  for (const auto& [from, to, named] :
       {std::tuple("[[4,8],[8,2]]", "[[4,\"eight\"],[8,2]]", "shapes"),
        std::tuple("[[4,8],[8,2]]", "[[4,8]]", "shapes"),
        std::tuple("\"strides\":[[8,1],[2,1]]", "\"strides\":3", "strides")}) {
    const Model model = import_trace(execution_trace_of({replaced(kProductNode, from, to), other}));
    EXPECT_EQ(model.calls.size(), 1u) << to;
    ASSERT_THAT(model.untimed, SizeIs(1)) << to;
    EXPECT_THAT(model.untimed[0].reason, AllOf(HasSubstr("Node 7"), HasSubstr(named)));
  }
  EXPECT_THAT(problem_of_trace(execution_trace_of({replaced(kProductNode, "\"id\":7", "\"id\":\"seven\"")})),
              HasSubstr("'id'"));
  EXPECT_THAT(problem_of_trace(execution_trace_of({replaced(kProductNode, "\"ctrl_deps\":1,", "")})),
              AllOf(HasSubstr("node 7"), HasSubstr("'parent'")));
}

TEST(DamagedTrace, ImpossibleShapesAreListed) {
  const std::string other = replaced(kProductNode, "\"id\":7", "\"id\":9");
  for (const std::string shape :
       {"[[-4,8],[8,2]]", "[[9223372036854775807,8],[8,9223372036854775807]]", "[[0,8],[8,2]]"}) {
    const Model model =
        import_trace(execution_trace_of({replaced(kProductNode, "[[4,8],[8,2]]", shape), other}));
    ASSERT_THAT(model.untimed, SizeIs(1)) << shape;
    EXPECT_THAT(model.untimed[0].reason, HasSubstr("impossible"));
  }
}

TEST(DamagedTrace, NodesThatAreTheirOwnParentsAreRoots) {
  EXPECT_EQ(import_trace(execution_trace_of({replaced(kProductNode, "\"ctrl_deps\":1", "\"ctrl_deps\":7")}))
                .calls.size(),
            1u);
  EXPECT_EQ(import_trace(execution_trace_of({replaced(kProductNode, "\"ctrl_deps\":1", "\"ctrl_deps\":9"),
                                             replaced(replaced(kProductNode, "\"id\":7", "\"id\":9"),
                                                      "\"ctrl_deps\":1", "\"ctrl_deps\":7")}))
                .calls.size(),
            1u);
}

TEST(DamagedTrace, AnUnknownSchemaIsReadWithANote) {
  EXPECT_THAT(import_trace(execution_trace_of({kProductNode}, "2.7")).notes, Contains(HasSubstr("2.7")));
  EXPECT_THAT(import_trace(execution_trace_of({kProductNode})).notes, Not(Contains(HasSubstr("schema"))));
}

TEST(DamagedTrace, InfinitiesAreReadAlthoughJsonHasNone) {
  const std::string fill = R"json(
{"id":8,"name":"aten::masked_fill_","ctrl_deps":1,
 "inputs":{"values":[[1,2,0,4,4,"cuda:0"],[3,4,0,4,1,"cuda:0"],-inf],"shapes":[[4],[4],[]],
           "types":["Tensor(float)","Tensor(bool)","Double"],"strides":[[1],[1],[]]},
 "outputs":{"values":[],"shapes":[],"types":[],"strides":[]},"attrs":[]})json";
  const Model model = import_trace(execution_trace_of({kProductNode, fill}));
  ASSERT_EQ(model.calls.size(), 2u);
  EXPECT_THAT(model.layers[1].operation.text(), HasSubstr("-inf"));
}

// Schema 1.0: flat fields, no strides; the weight of a linear layer is known from aten::t.
TEST(OlderTrace, TakesStridesFromTransposedViews) {
  const std::string t = R"json(
{"id":2,"name":"aten::t","parent":1,"inputs":[[1,10,0,16,4,"cuda:0"]],"input_shapes":[[2,8]],
 "input_types":["Tensor(float)"],"outputs":[[2,10,0,16,4,"cuda:0"]],"output_shapes":[[8,2]],
 "output_types":["Tensor(float)"],"op_schema":"aten::t(Tensor(a) self) -> Tensor(a)"})json";
  const std::string addmm = R"json(
{"id":3,"name":"aten::addmm","parent":1,
 "inputs":[[3,11,0,2,4,"cuda:0"],[4,12,0,32,4,"cuda:0"],[2,10,0,16,4,"cuda:0"],1,1],
 "input_shapes":[[2],[4,8],[8,2],[],[]],
 "input_types":["Tensor(float)","Tensor(float)","Tensor(float)","Int","Int"],
 "outputs":[[5,13,0,8,4,"cuda:0"]],"output_shapes":[[4,2]],"output_types":["Tensor(float)"],
 "op_schema":"aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"})json";
  const Model model = import_trace(execution_trace_of({t, addmm}, "1.0.1"));
  ASSERT_THAT(model.layers, SizeIs(1));
  EXPECT_EQ(model.layers[0].operation, Operation::parse("linear:n=4,in=8,out=2"));
  EXPECT_THAT(model.notes, Contains(HasSubstr("no strides")));
}

}  // namespace
}  // namespace jitterscope
