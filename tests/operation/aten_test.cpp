#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "jitterscope/operation.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::usage_message;
using Kind = AtenArgument::Kind;

std::string normal_form(std::string_view text) { return Operation::parse(text).text(); }
std::string problem(const std::string& text) {
  return usage_message([&] { Operation::parse(text); });
}
const Aten& aten_of(const Operation& operation) { return std::get<Aten>(operation.parameters()); }

class RandomAten {
 public:
  explicit RandomAten(std::uint64_t seed) : random_(seed) {}

  Aten next() {
    Aten aten{.name = pick({"aten::relu", "aten::add_.Tensor", "my_ops::_x2.out_1"}),
              .arguments = {},
              .argument_names = {}};
    const std::uint64_t count = random_.below(6), positional = random_.below(count + 1);
    for (std::uint64_t i = 0; i < count; ++i) {
      aten.arguments.push_back(argument(0));
      aten.argument_names.push_back(i < positional ? "" : "n" + std::to_string(i));
    }
    return aten;
  }

 private:
  template <class Value>
  Value pick(std::initializer_list<Value> values) {
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(random_.below(values.size())));
  }
  const char* pick(std::initializer_list<const char*> values) { return pick<const char*>(values); }

  AtenArgument argument(int depth) {
    AtenArgument result;
    result.kind = static_cast<Kind>(random_.below(depth < 3 ? 7 : 6));
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (result.kind) {
      case Kind::none: break;
      case Kind::boolean: result.boolean = random_.below(2) == 1; break;
      case Kind::integer: result.integer = static_cast<std::int64_t>(random_.next()); break;
      case Kind::real:
        result.real = pick({random_.normal(), 1e300 * random_.normal(), 5e-324, -0.0, 2.0, 1e22, kInfinity,
                            -kInfinity, std::numeric_limits<double>::quiet_NaN()});
        break;
      case Kind::text:
        for (std::uint64_t i = random_.below(5); i > 0; --i)
          result.text += static_cast<char>(random_.below(256));
        break;
      case Kind::tensor: tensor(result); break;
      case Kind::list:
        for (std::uint64_t i = random_.below(4); i > 0; --i) result.elements.push_back(argument(depth + 1));
    }
    return result;
  }
  void tensor(AtenArgument& result) {
    result.text =
        pick({"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool", "c64", "c128@cpu"});
    const bool strided = random_.below(2) == 1;
    for (std::uint64_t i = random_.below(5); i > 0; --i) {
      result.shape.push_back(static_cast<std::int64_t>(random_.below(100)));
      if (strided) result.strides.push_back(static_cast<std::int64_t>(random_.below(100)));
    }
  }

  Random random_;
};

TEST(AtenText, ParsingGivesBackEveryRandomOperation) {
  RandomAten random(11);
  for (int i = 0; i < 5000; ++i) {
    const Operation operation(random.next());
    const Operation again = Operation::parse(operation.text());
    ASSERT_EQ(again, operation) << operation.text();
    ASSERT_EQ(again.text(), operation.text());
  }
}

TEST(AtenText, RealCallsAreFixedPoints) {
  for (const char* text : {
           "aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2)",
           "aten::cudnn_convolution(f32[16,3,224,224],f32[64,3,7,7],[3,3],[2,2],[1,1],1,false,false,true)",
           "aten::index.Tensor(f32[4,4],[None,i64[2]])",
           "aten::gelu(bf16[2,0,3],approximate=\"ta\\\"nh\\\\\\x0a\\xff\")",
           "aten::_foreach_add_.Scalar([f32[],f32[3]],-1)",
           "aten::masked_fill.Scalar(f32[4],bool[4],-inf)",
           "aten::dropout(f32[4],0.1,true)",
           "aten::copy_(f16[2,3,4,4]{48,1,12,3},f16@cpu[2,3,4,4])",
           "aten::rand([],None)",
           "aten::seed()",
       }) {
    EXPECT_EQ(normal_form(text), text);
  }
}

TEST(AtenText, SpacesAndDenseStridesAndPythonsWordsAreNotKept) {
  EXPECT_EQ(normal_form(" aten::f ( f32[ 2 , 3 ] { 3,1 } , a = True,b=[ False ] ) "),
            "aten::f(f32[2,3],a=true,b=[false])");
  EXPECT_EQ(normal_form("aten::f(f32[]{},f32[0,3]{3,1},f32[1,3]{1,1})"),
            "aten::f(f32[],f32[0,3],f32[1,3]{1,1})");
  EXPECT_EQ(normal_form("aten::f(1e3,2.,1)"), "aten::f(1000.0,2.0,1)");
}

TEST(AtenText, FieldsOfOtherKindsDoNotTellOperationsApart) {
  AtenArgument number;
  number.kind = Kind::integer;
  number.integer = 3;
  AtenArgument same = number;
  same.real = 5.0;
  same.text = "x";
  EXPECT_EQ(Operation(Aten{"aten::f", {same}, {}}), Operation(Aten{"aten::f", {number}, {""}}));
}

TEST(AtenText, ArgumentsAreReadAsWritten) {
  const Operation operation = Operation::parse("aten::f.g(None,-3,f16[2,3]{1,2},[i64[1]],x=\"a,b\",y=-0.5)");
  const Aten& aten = aten_of(operation);
  EXPECT_EQ(aten.name, "aten::f.g");
  EXPECT_EQ(aten.argument_names, (std::vector<std::string>{"", "", "", "", "x", "y"}));
  ASSERT_EQ(aten.arguments.size(), 6u);
  EXPECT_EQ(aten.arguments[0].kind, Kind::none);
  EXPECT_EQ(aten.arguments[1].integer, -3);
  EXPECT_EQ(aten.arguments[2].text, "f16");
  EXPECT_EQ(aten.arguments[2].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(aten.arguments[2].strides, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(aten.arguments[3].elements.at(0).text, "i64");
  EXPECT_EQ(aten.arguments[4].text, "a,b");
  EXPECT_EQ(aten.arguments[5].real, -0.5);
}

TEST(AtenText, SweepIsOneOperation) {
  const std::string text = "aten::sum(f32[2,3],[0,1],false)";
  ASSERT_EQ(parse_sweep(text).size(), 1u);
  EXPECT_EQ(parse_sweep(text).front(), Operation::parse(text));
}

TEST(AtenText, IsAnOperationWithoutOperands) {
  const Operation operation = Operation::parse("aten::f(f32[2,3]{0,1},[bf16[4]],i64[0],c128[])");
  EXPECT_EQ(operation.kind(), "aten");
  EXPECT_EQ(operation.flops(), 0.0);
  EXPECT_EQ(operation.bytes(), Bytes(3 * 4 + 4 * 2 + 16));  // the expanded rows are one row
  EXPECT_TRUE(operation.operands().empty());
  EXPECT_EQ(operation.with_dtype(DataType::f16), operation);
}

TEST(AtenText, WhatCannotBeReadIsShownWithItsPlace) {
  EXPECT_THAT(problem("aten"), HasSubstr("aten::NAME(ARGUMENTS)"));
  EXPECT_THAT(problem("aten::relu"), AllOf(HasSubstr("aten::relu"), HasSubstr("parentheses")));
  EXPECT_THAT(problem("aten::relu(f33[2])"),
              AllOf(HasSubstr("character 12"), HasSubstr("'f33[2])'"), HasSubstr("bf16")));
  EXPECT_THAT(problem("aten::relu(f32)"), HasSubstr("shape in brackets"));
  EXPECT_THAT(problem("aten::relu(f32[2)"), HasSubstr("a comma or ']'"));
  EXPECT_THAT(problem("aten::relu(f32[x])"), HasSubstr("a whole number"));
  EXPECT_THAT(problem("aten::relu(f32[2]"), AllOf(HasSubstr("the end"), HasSubstr("a comma or ')'")));
  EXPECT_THAT(problem("aten::relu(f32[2]) x"), HasSubstr("nothing follows"));
  EXPECT_THAT(problem("aten::relu(\"a)"), HasSubstr("closing"));
  EXPECT_THAT(problem("aten::relu(\"\\xg1\")"), HasSubstr("hexadecimal"));
  EXPECT_THAT(problem("aten::relu(9223372036854775808)"), HasSubstr("64 bits"));
  EXPECT_THAT(problem("aten::relu(1e999)"), HasSubstr("double"));
  EXPECT_THAT(problem("aten::f(" + std::string(100000, '[')), HasSubstr("8 levels"));
}

TEST(AtenText, WhatCannotExistIsRefused) {
  EXPECT_THAT(problem("aten::(1)"), HasSubstr("not an operator's name"));
  EXPECT_THAT(problem("aten::relu.(1)"), HasSubstr("not an operator's name"));
  EXPECT_THAT(problem("aten::relu.a.b(1)"), HasSubstr("not an operator's name"));
  EXPECT_THAT(problem("aten::f(f32[-1])"), AllOf(HasSubstr("'f32[-1]'"), HasSubstr("negative")));
  EXPECT_THAT(problem("aten::f(f32[2]{-1})"), HasSubstr("negative"));
  EXPECT_THAT(problem("aten::f(f32[2]{1,2})"), HasSubstr("strides"));
  EXPECT_THAT(problem("aten::f(f32[4000000000,4000000000])"), HasSubstr("2^42"));
  EXPECT_THAT(problem("aten::f(f32[2]{9223372036854775807})"), HasSubstr("2^42"));
  EXPECT_THAT(problem("aten::f(c128[4398046511104],f32[1])"), HasSubstr("64 TiB"));
  EXPECT_THAT(problem("aten::f(a=1,2)"), HasSubstr("has no name"));
  EXPECT_THAT(problem("aten::f(a=1,a=2)"), HasSubstr("twice"));
  EXPECT_THAT(usage_message([] {
                Operation(Aten{"aten::f", {{}}, {"a b"}});
              }),
              HasSubstr("not an argument's name"));
  EXPECT_THAT(usage_message([] { Operation(Aten{"aten::f", {{}, {}}, {"a"}}); }), HasSubstr("as many names"));
}

}  // namespace
}  // namespace jitterscope
