#include "commands/list/table.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace jitterscope {
namespace {

using testing::HasSubstr;

Model sample_model() {
  return {"tiny",
          "two products and a copy",
          {{{"a", "b", "c"}, Operation::parse("matmul:m=1000,n=1000,k=1000")},
           {{"d"}, Operation::parse("copy:bytes=1Mi")}}};
}

TEST(ListText, LayersOfAModel) {
  EXPECT_EQ(model_text(sample_model(), 100), R"(**tiny**: two products and a copy.
4 layers, 2 different operations; together 6 GFLOP and at least 38.1 MB moved. The columns GFLOP and
MB are for one launch.

|   # | count | operation                             | GFLOP |  MB | layers       |
| --: | ----: | ------------------------------------- | ----: | --: | ------------ |
|   1 |     3 | matmul:m=1000,n=1000,k=1000,dtype=f32 |     2 |  12 | a and 2 more |
|   2 |     1 | copy:bytes=1048576,kind=d2d           |     0 | 2.1 | d            |
)");
  EXPECT_THAT(model_text(sample_model(), 60),
              testing::AllOf(HasSubstr("| matmul:m=1000,n=1000,k=1000,dtype=f32 |\n"),
                             HasSubstr("\nLeft out at 60 columns: GFLOP, MB, layers (--json FILE or")));
}

// Three lines for a convolution at 80 columns were hard to read.
TEST(ListText, OperationsThatDoNotFitAreShortened) {
  const Model model{"one",
                    "convolutions",
                    {{{"a"}, Operation::parse("conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=tf32")},
                     {{"b"}, Operation::parse("conv2d:n=32,c=128,hw=28,k=128,rs=3,pad=1,dtype=tf32")}}};
  const std::string text = model_text(model, 80);
  EXPECT_THAT(text, HasSubstr("| conv2d c=64,hw=56,k=64 "));
  EXPECT_THAT(text,
              HasSubstr("Operations are shortened, and all have\nn=32,rs=3,pad=1,dtype=tf32,layout=nchw,"));
  EXPECT_THAT(model_text(model, 120),
              testing::AllOf(HasSubstr("| conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype"),
                             testing::Not(HasSubstr("shortened"))));
}

TEST(ListText, OneLayerIsNotCalledLayers) {
  const Model model{"one", "a product", {{{"a"}, Operation::parse("matmul:m=8,n=8,k=8")}}};
  EXPECT_THAT(model_text(model), HasSubstr("1 layer, 1 different operation; "));
}

TEST(ListJson, LayersHaveAllTheirNames) {
  const auto layers = nlohmann::json::parse(model_json(sample_model())).at("layers");
  EXPECT_EQ(layers[0]["names"], (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(layers[0]["count"], 3);
  EXPECT_EQ(layers[0]["flops"], 2e9);
  EXPECT_EQ(layers[1]["minimum_bytes"], 2 << 20);
}

TEST(ListText, ModelsThatCannotBeReadSayWhy) {
  Listing listing;
  listing.models = {{"tiny", "two products and a copy", 4, 2, ""},
                    {"broken", "", 0, 0, "line 3: expected ','"}};
  EXPECT_EQ(list_text(listing), R"(## Models

- **tiny**: 4 layers, 2 different; two products and a copy
- **broken**: damaged: line 3: expected ','

`jitterscope list MODEL` shows its layers.
)");
}

TEST(ListText, ProvidersSayWhyTheyAreMissing) {
  const std::vector<LibraryInfo> cpu = {{"onednn", "3.5.0", "/lib/libdnnl.so.3", ""},
                                        {"torch", "2.11.0", "/lib/libjitterscope_torch.so", ""}};
  const std::vector<LibraryInfo> cuda = {{"cudnn", "9.19.0", "/lib/libcudnn.so.9", ""},
                                         {"cublaslt", "", "", "not found"},
                                         {"torch", "", "", "not built"}};
  Listing listing;
  listing.providers = list_providers(cpu, cuda, "");
  EXPECT_EQ(list_text(listing), R"(## Providers

- **onednn on cpu**: conv2d, matmul, linear; found 3.5.0
- **builtin on cpu**: copy, fill, add, relu, spin; part of jitterscope
- **torch on cpu**: aten; found 2.11.0
- **cudnn on cuda**: conv2d; found 9.19.0
- **cublaslt on cuda**: matmul, linear; missing: not found
- **nvrtc on cuda**: cuda; missing: this build does not have it
- **builtin on cuda**: copy, fill, add, relu, spin; part of jitterscope
- **torch on cuda**: aten; missing: not built
)");
  listing.providers = list_providers(cpu, {}, "no driver");
  EXPECT_THAT(list_text(listing),
              HasSubstr("- **builtin on cuda**: copy, fill, add, relu, spin; missing: no driver"));
}

TEST(ListText, BesideOtherSectionsOperationsAreALineEach) {
  Listing listing;
  listing.operations = true;
  listing.models.emplace();
  const std::string text = list_text(listing);
  EXPECT_THAT(text, HasSubstr("- **conv2d**: 2-D convolution"));
  EXPECT_THAT(text, HasSubstr("`jitterscope list operations` shows their parameters"));
  EXPECT_THAT(text, testing::Not(HasSubstr("(required)")));
}

TEST(ListText, EveryOperationHasItsParametersAndAnExampleThatIsRead) {
  Listing listing;
  listing.operations = true;
  const std::string text = list_text(listing);
  for (const OperationHelp& help : operation_help()) {
    EXPECT_THAT(text, HasSubstr("**" + help.kind + "**: "));
    const std::string quote =
        help.kind == "aten" ? "'" : "";  // from the shell, which has its own parentheses
    EXPECT_THAT(text, HasSubstr("`jitterscope run " + quote + help.example + quote + "`"));
    EXPECT_NO_THROW(Operation::parse(help.example));
    for (const ParameterHelp& parameter : help.parameters)
      EXPECT_THAT(text, HasSubstr("- " + parameter.name + " ("));
  }
}

}  // namespace
}  // namespace jitterscope
