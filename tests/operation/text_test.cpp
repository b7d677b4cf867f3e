#include <gmock/gmock.h>

#include <algorithm>

#include "jitterscope/operation.hpp"
#include "operation/random_operation.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::usage_message;

std::string normal_text(std::string_view text) { return Operation::parse(text).text(); }
std::string problem_of_text(const std::string& text) {
  return usage_message([&] { Operation::parse(text); });
}

TEST(OperationText, NormalFormIsAFixedPointOfTheIssuesExample) {
  const std::string text = "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop";
  EXPECT_EQ(normal_text(text), text);
}

TEST(OperationText, ParsingGivesBackEveryRandomOperation) {
  testing::RandomOperation random(7);
  for (int i = 0; i < 5000; ++i) {
    const Operation operation = random.next();
    const Operation again = Operation::parse(operation.text());
    ASSERT_EQ(again, operation) << operation.text();
    ASSERT_EQ(again.text(), operation.text());
  }
}

TEST(OperationText, OrderAndSpellingDoNotMatter) {
  EXPECT_EQ(normal_text(" conv2d: pad=1x1, rs=3 ,k=8,h=5,w=5,c=4,n=2,dtype=half,stride=1"),
            "conv2d:n=2,c=4,hw=5,k=8,rs=3,pad=1,dtype=f16,layout=nchw,direction=fprop");
  EXPECT_EQ(normal_text("conv2d:n=2,c=4,h=5,w=7,k=8,r=3,s=1,stride=2x1,pad=1x0,dilation=1x2,groups=2"),
            "conv2d:n=2,c=4,h=5,w=7,k=8,r=3,s=1,stride=2x1,pad=1x0,dilation=1x2,groups=2,dtype=f32,"
            "layout=nchw,direction=fprop");
  EXPECT_EQ(normal_text("matmul:m=1,n=2,k=3,batch=4,ta=true,tb=false,bias=1,dtype=bfloat16"),
            "matmul:m=1,n=2,k=3,batch=4,ta=1,bias=1,dtype=bf16");
  EXPECT_EQ(normal_text("linear:n=1,in=2,out=3,bias=0"), "linear:n=1,in=2,out=3,bias=0,dtype=f32");
  EXPECT_EQ(normal_text("add:count=1.5M"), "add:count=1500000,dtype=f32");
  EXPECT_EQ(normal_text("add:count=1e6"), "add:count=1000000,dtype=f32");
  EXPECT_EQ(normal_text("copy:bytes=1GiB"), normal_text("copy:bytes=1Gi"));
  EXPECT_EQ(normal_text("copy:bytes=1Gi,kind=h2d,memory=pageable"),
            "copy:bytes=1073741824,kind=h2d,memory=pageable");
  EXPECT_EQ(normal_text("batch_norm:n=1,c=2,h=3,w=3,pass=inference,layout=nhwc"),
            "batch_norm:n=1,c=2,hw=3,dtype=f32,layout=nhwc,pass=inference");
  EXPECT_EQ(normal_text("max_pool:n=1,c=2,hw=9,window=3x2,stride=3x2,pad=1"),
            "max_pool:n=1,c=2,hw=9,window=3x2,pad=1,dtype=f32,layout=nchw");
  EXPECT_EQ(normal_text("avg_pool:n=1,c=2,hw=9,window=3,stride=2,pass=backward"),
            "avg_pool:n=1,c=2,hw=9,window=3,stride=2,dtype=f32,layout=nchw,pass=backward");
  EXPECT_EQ(normal_text("max_pool:n=1,c=2,hw=9,window=3x2,stride=window"),
            normal_text("max_pool:n=1,c=2,hw=9,window=3x2"));
  EXPECT_EQ(normal_text("convert:n=1,c=2,hw=9,from=nhwc,to=from,to_dtype=f16"),
            normal_text("convert:count=162,to_dtype=f16"));
  EXPECT_EQ(normal_text("softmax:columns=2,rows=1,pass=forward"), "softmax:rows=1,columns=2,dtype=f32");
  EXPECT_EQ(normal_text("attention:batch=1,heads=2,dim=8,queries=4,keys=4,causal=1"),
            "attention:batch=1,heads=2,queries=4,dim=8,causal=1,dtype=f16");
  EXPECT_EQ(normal_text("attention:batch=1,heads=2,dim=8,queries=4,keys=5,dtype=f32,pass=backward"),
            "attention:batch=1,heads=2,queries=4,keys=5,dim=8,dtype=f32,pass=backward");
  EXPECT_EQ(normal_text("attention:batch=1,kv_heads=2,heads=8,dim=8,queries=4"),
            "attention:batch=1,heads=8,kv_heads=2,queries=4,dim=8,dtype=f16");
  EXPECT_EQ(normal_text("attention:batch=1,heads=8,kv_heads=8,dim=8,queries=4"),
            "attention:batch=1,heads=8,queries=4,dim=8,dtype=f16");
  EXPECT_EQ(normal_text("embedding:count=2Ki,rows=3,columns=4"),
            "embedding:count=2048,rows=3,columns=4,dtype=f32");
  EXPECT_EQ(normal_text("relu:count=3Ki"), "relu:count=3072,dtype=f32");
  EXPECT_EQ(normal_text("fill:count=2Mi,dtype=fp64"), "fill:count=2097152,dtype=f64");
  EXPECT_EQ(normal_text("spin:cycles=100,threads=64"), "spin:cycles=100,threads=64");
  EXPECT_EQ(normal_text("spin:ns=0,blocks=132"), "spin:ns=0,blocks=132");
}

TEST(OperationText, ConversionsAreOfImagesOrOfElements) {
  const std::string images = "convert:n=2,c=3,h=4,w=5,from=nhwc,to=nchw,dtype=f32,to_dtype=f16";
  EXPECT_EQ(normal_text(images), images);
  EXPECT_EQ(normal_text("convert:dtype=half,to=nhwc,hw=56,c=64,n=32"),
            "convert:n=32,c=64,hw=56,from=nchw,to=nhwc,dtype=f16");
  EXPECT_EQ(normal_text("convert:count=1Ki,to_dtype=f16"), "convert:count=1024,dtype=f32,to_dtype=f16");
  // Where the layout stays, it makes no difference which one that is.
  EXPECT_EQ(normal_text("convert:n=2,c=3,hw=4,from=nhwc,to_dtype=bf16"),
            "convert:count=96,dtype=f32,to_dtype=bf16");
  EXPECT_THAT(problem_of_text("convert:n=1,c=1,hw=1,from=nchw,to=nhcw"),
              AllOf(HasSubstr("to: 'nhcw'"), HasSubstr("did you mean 'n")));
  EXPECT_THAT(problem_of_text("convert:n=1,c=1,hw=1,from=channels_last"), HasSubstr("did you mean 'nhwc'?"));
  EXPECT_THAT(problem_of_text("convert:count=1,to_dtype=i64"), HasSubstr("to_dtype=i64 is impossible"));
  EXPECT_THAT(problem_of_text("convert:count=1,to_dtpye=f16"), HasSubstr("did you mean 'to_dtype'?"));
  EXPECT_THAT(problem_of_text("convert:count=1,from=nchw,to=nhwc"), HasSubstr("count is given beside from"));
  EXPECT_THAT(problem_of_text("convert:to_dtype=f16"), HasSubstr("count, or n, c and hw, is missing"));
  EXPECT_THAT(problem_of_text("convert:c=3,to_dtype=f16"), HasSubstr("n is missing"));
}

TEST(OperationText, DataTypesHaveTheNamesThatPeopleType) {
  const std::pair<const char*, DataType> names[] = {
      {"f64", DataType::f64},     {"fp64", DataType::f64},  {"float64", DataType::f64},
      {"double", DataType::f64},  {"f32", DataType::f32},   {"fp32", DataType::f32},
      {"float32", DataType::f32}, {"float", DataType::f32}, {"tf32", DataType::tf32},
      {"f16", DataType::f16},     {"fp16", DataType::f16},  {"float16", DataType::f16},
      {"half", DataType::f16},    {"bf16", DataType::bf16}, {"bfloat16", DataType::bf16},
  };
  for (const auto& [name, type] : names) {
    EXPECT_EQ(Operation::parse("add:count=1,dtype=" + std::string(name)).dtype(), type) << name;
  }
}

TEST(OperationText, IndicesAreNoTypeToComputeIn) {
  for (const OperationHelp& help : operation_help()) {
    if (help.parameters.end() == std::find_if(help.parameters.begin(), help.parameters.end(),
                                              [](const auto& known) { return known.name == "dtype"; })) {
      continue;
    }
    const std::string shape = help.example.substr(0, help.example.find(",dtype="));
    EXPECT_THAT(problem_of_text(shape + ",dtype=i64"),
                AllOf(HasSubstr(help.kind + ": dtype=i64 is impossible"), HasSubstr("holds indices")));
    for (const ParameterHelp& known : help.parameters) {
      EXPECT_EQ(known.meaning.find("i64"), std::string::npos) << help.kind << " " << known.name;
    }
  }
  EXPECT_THAT(problem_of_text("add:count=1,dtype=i46"), ::testing::Not(HasSubstr("'i64'")));
  EXPECT_EQ(to_string(DataType::i64), "i64");
  EXPECT_EQ(element_size(DataType::i64), Bytes(8));
}

TEST(OperationText, OnlyBatchNormalizationDiffersInInference) {
  EXPECT_THAT(problem_of_text("softmax:rows=1,columns=1,pass=inference"),
              AllOf(HasSubstr("softmax: pass=inference is the same as pass=forward")));
  for (const char* shape :
       {"layer_norm:rows=1,columns=1", "max_pool:n=1,c=1,hw=1,window=1", "embedding:count=1,rows=1,columns=1",
        "attention:batch=1,heads=1,queries=1,dim=1"}) {
    EXPECT_THAT(problem_of_text(std::string(shape) + ",pass=inference"), HasSubstr("write forward")) << shape;
  }
  EXPECT_EQ(problem_of_text("batch_norm:n=1,c=1,hw=1,pass=inference"), "");
}

TEST(OperationText, BatchNormalizationsWeightsAreF32OrOfItsType) {
  const std::string text = "batch_norm:n=1,c=1,hw=1,dtype=f16";
  EXPECT_EQ(Operation::parse(text + ",weights=f32"), Operation::parse(text));
  EXPECT_EQ(Operation::parse(text + ",weights=f16").text(), text + ",layout=nchw,weights=f16");
  EXPECT_THAT(problem_of_text(text + ",weights=bf16"), HasSubstr("weights=bf16 beside dtype=f16"));
  EXPECT_THAT(problem_of_text("batch_norm:n=1,c=1,hw=1,weights=f16"), HasSubstr("leave weights out"));
  EXPECT_THAT(problem_of_text(text + ",weights=i64"), HasSubstr("weights=i64 is impossible"));
}

TEST(OperationText, AttentionHasAsManyHeadsOfKeysAsOfQueriesWhereNothingElseIsSaid) {
  const Attention fields{.batch = 1, .heads = 8, .queries = 4, .keys = 4, .dim = 8};
  EXPECT_EQ(Operation(fields), Operation::parse("attention:batch=1,heads=8,kv_heads=8,queries=4,dim=8"));
  EXPECT_EQ(std::get<Attention>(Operation(fields).parameters()).kv_heads, 8);
}

TEST(OperationText, CopyOnTheDeviceIgnoresHostMemory) {
  EXPECT_EQ(Operation::parse("copy:bytes=4,memory=pageable"), Operation::parse("copy:bytes=4,memory=pinned"));
}

TEST(OperationText, OfACopysHostSideTheNodeIsNamed) {
  EXPECT_EQ(normal_text("copy:bytes=4Ki,kind=h2d,node=1"), "copy:bytes=4096,kind=h2d,node=1");
  EXPECT_EQ(normal_text("copy:bytes=4Ki,kind=h2d,node=any"), "copy:bytes=4096,kind=h2d");
  EXPECT_THAT(problem_of_text("copy:bytes=4Ki,node=1"), HasSubstr("on the device alone"));
  EXPECT_THAT(problem_of_text("copy:bytes=4Ki,kind=h2d,node=5000"), HasSubstr("node"));
}

TEST(OperationText, UnknownWordsNameTheNearest) {
  EXPECT_THAT(problem_of_text("conv2:n=1"), AllOf(HasSubstr("'conv2'"), HasSubstr("did you mean 'conv2d'")));
  EXPECT_THAT(problem_of_text("xyzzy:n=1"), AllOf(HasSubstr("'xyzzy'"), HasSubstr("conv2d, matmul, linear")));
  EXPECT_THAT(problem_of_text("conv2d:n=1,strid=2"),
              AllOf(HasSubstr("'strid'"), HasSubstr("did you mean 'stride'")));
  EXPECT_THAT(problem_of_text("conv2d:n=1,c=1,hw=1,k=1,rs=1,layout=nhcw"),
              AllOf(HasSubstr("layout"), HasSubstr("'nhcw'"), HasSubstr("did you mean 'n")));
  EXPECT_THAT(problem_of_text("add:count=1,dtype=f8"), AllOf(HasSubstr("dtype"), HasSubstr("'f8'")));
  EXPECT_THAT(problem_of_text("add:count=1,dtype=quadruple"), HasSubstr("known: f64, f32, tf32, f16, bf16"));
  EXPECT_THAT(problem_of_text("matmul:m=1,n=1,k=1,ta=maybe"),
              AllOf(HasSubstr("ta"), HasSubstr("known: 0, 1")));
}

TEST(OperationText, ValuesThatAreNoNumbersAreNamed) {
  for (const std::string bad : {"x", "-1", "+1", "1.5", "0x10", "9223372036854775808", "16777216Ti",
                                "9223372036854775807Ki", "1 2"}) {
    EXPECT_THAT(problem_of_text("add:count=" + bad),
                AllOf(HasSubstr("add: count"), HasSubstr("'" + bad + "'"), HasSubstr("not a whole number")));
  }
  EXPECT_THAT(problem_of_text("add:count="), HasSubstr("count has no value"));
  for (const std::string bad : {"2x", "x2", "1x2x3", "ax1"}) {
    EXPECT_THAT(problem_of_text("conv2d:n=1,c=1,hw=9,k=1,rs=1,stride=" + bad),
                AllOf(HasSubstr("stride"), HasSubstr("'" + bad + "'"), HasSubstr("height x width")));
  }
}

TEST(OperationText, MissingAndContradictingParametersAreNamed) {
  EXPECT_THAT(problem_of_text("conv2d:n=1"), AllOf(HasSubstr("c is missing"), HasSubstr("example: conv2d:")));
  EXPECT_THAT(problem_of_text("conv2d:n=1,c=1,k=1,rs=1"), HasSubstr("hw (or h and w) is missing"));
  EXPECT_THAT(problem_of_text("conv2d:n=1,c=1,h=1,k=1,rs=1"), HasSubstr("w is missing"));
  EXPECT_THAT(problem_of_text("conv2d:n=1,c=1,hw=1,w=1,k=1,rs=1"), HasSubstr("w is given beside hw"));
  EXPECT_THAT(problem_of_text("conv2d:n=1,c=1,hw=1,k=1,rs=1,r=1"), HasSubstr("r is given beside rs"));
  EXPECT_THAT(problem_of_text("conv2d:n=1,n=2"), HasSubstr("n is given twice"));
  EXPECT_THAT(problem_of_text("spin"), HasSubstr("ns (or cycles) is missing"));
  EXPECT_THAT(problem_of_text("spin:ns=1,cycles=1"), HasSubstr("ns and cycles are both given"));
  EXPECT_THAT(problem_of_text("copy"), HasSubstr("bytes is missing"));
  EXPECT_THAT(problem_of_text(""), HasSubstr("begins with its kind: conv2d"));
  EXPECT_THAT(problem_of_text("add:5"), AllOf(HasSubstr("'5' is not name=value"), HasSubstr("add:count=")));
}

TEST(OperationText, OneOperationRefusesSweeps) {
  EXPECT_THAT(problem_of_text("add:count=1,2"),
              AllOf(HasSubstr("'count=1,2' is a list"), HasSubstr("sweeps are for `run`")));
  EXPECT_THAT(problem_of_text("add:count=1..8*2"),
              AllOf(HasSubstr("range"), HasSubstr("sweeps are for `run`")));
}

TEST(OperationText, MessagesStayReadableForDamagedInput) {
  const std::string message =
      problem_of_text(std::string("add:count=\x1b[31m\xff\n") + std::string(1000, 'x'));
  EXPECT_LT(message.size(), 200u);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(OperationHelp, EveryExampleParsesAndEveryParameterIsRead) {
  ASSERT_EQ(operation_help().size(), 46u);
  for (const OperationHelp& help : operation_help()) {
    EXPECT_EQ(Operation::parse(help.example).kind(), help.kind);
    EXPECT_FALSE(help.summary.empty());
    for (const ParameterHelp& parameter : help.parameters) {
      EXPECT_FALSE(parameter.meaning.empty());
      // A known parameter with an empty value is complained about by its reader, an unknown one at once.
      const std::string name = help.kind == "cuda" ? "cuda:FILE.cu:KERNEL," : help.kind + ":";
      const std::string message = problem_of_text(name + parameter.name + "=");
      EXPECT_THAT(message, ::testing::Not(HasSubstr("no parameter"))) << help.kind << " " << parameter.name;
      EXPECT_NE(message, "") << help.kind << " " << parameter.name;
    }
  }
}

TEST(OperationHelp, DefaultsAreThoseOfTheParser) {
  for (const OperationHelp& help : operation_help()) {
    const Operation usual = Operation::parse(help.example);
    for (const ParameterHelp& parameter : help.parameters) {
      const std::string& usual_value = parameter.default_value;
      const bool is_in_place_of_another = usual_value == "hw" || usual_value == "rs" || usual_value == "ns";
      if (is_in_place_of_another || usual_value.empty() ||
          help.example.find(parameter.name + "=") != std::string::npos)
        continue;
      const std::string explicit_text = help.example + "," + parameter.name + "=" + usual_value;
      EXPECT_EQ(Operation::parse(explicit_text), usual) << explicit_text;
    }
  }
}

}  // namespace
}  // namespace jitterscope
