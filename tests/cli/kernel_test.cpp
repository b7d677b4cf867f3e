// Kernels of one's own on devices that cannot run them: looked at as far as can be, and said so.
#include <gmock/gmock.h>
#include <stdlib.h>  // setenv

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kData = JITTERSCOPE_TEST_DATA "/kernels/";
const std::string kLaunch = ",grid=64,block=256,";
const std::string kOnH200 = " --device virtual:h200";

class Kernels : public test::WithFolder {
 protected:
  // `library` is what NVRTC's name leads to.
  void use_compiler(const char* library) const {
    const std::filesystem::path link = path("libnvrtc.so.13");
    std::filesystem::remove(link);
    std::filesystem::create_symlink(library, link);
    ::setenv("JITTERSCOPE_LIBRARY_PATH", link.parent_path().c_str(), 1);
  }
  void use_no_compiler() const { use_compiler(JITTERSCOPE_STAND_IN_PLUGIN); }
  ~Kernels() override { ::unsetenv("JITTERSCOPE_LIBRARY_PATH"); }

  static Outcome run(const std::string& kernel, const std::string& flags = kOnH200) {
    return run_tool("run 'cuda:" + kData + kernel + "'" + flags +
                    " --cache warm --min-rounds 6 --time-limit 0.1 --json -");
  }
  static std::string refusal(const std::string& kernel) {
    const Outcome outcome = run(kernel);
    EXPECT_EQ(outcome.exit_code, 5) << kernel << outcome.errors;
    const json result = json::parse(outcome.output).at("results")[0];
    EXPECT_EQ(result.at("measurements").size(), 0) << kernel;
    return result.at("failure");
  }
};

TEST_F(Kernels, WithACompilerErrorsAreThoseThatAGpuWouldGive) {
  use_compiler(JITTERSCOPE_STAND_IN_NVRTC);
  EXPECT_THAT(refusal("mistake.cu:k" + kLaunch + "y=inout:f32[4096],n=4096"),
              HasSubstr("mistake.cu does not compile: " + kData +
                        "mistake.cu(1): error: identifier \"undefined_name\" is undefined"));
  EXPECT_THAT(refusal("ops.cuh:k" + kLaunch + "y=inout:f32[4096]"),
              HasSubstr("it has 2 parameters, and 1 arguments are given"));
  const json found = json::parse(run("ops.cuh:k" + kLaunch + "y=inout:f32[4096],n=4096").output);
  EXPECT_EQ(found.at("results")[0].at("algorithm"), "compiled by NVRTC 13.7 for 9.0, and not run");
}

TEST_F(Kernels, WithoutACompilerTheKernelIsLookedForInTheSource) {
  use_no_compiler();
  EXPECT_THAT(refusal("mistake.cu:nokernel" + kLaunch + "y=inout:f32[4096],n=4096"),
              HasSubstr("mistake.cu has no kernel nokernel; it has k"));
  EXPECT_THAT(refusal("mistake.cu:k" + kLaunch + "y=inout:f32[4096]"),
              HasSubstr("k: it has 2 parameters, and 1 arguments are given"));
  EXPECT_THAT(refusal("mistake.cu:k" + kLaunch + "y=1,n=4096"), HasSubstr("is a pointer, and y is a number"));
  EXPECT_THAT(refusal("../mobilenet_v2_cublaslt_heur.log:k" + kLaunch + "n=4096"),
              HasSubstr("has no kernel: no function in it is __global__"));
  EXPECT_THAT(refusal("stddef.cu:app::inc" + kLaunch + "y=inout:f32[4096],n=u32:4096"),
              HasSubstr("write its arguments, as app::inc<float>"));
  for (const char* kernel : {"axpy,n=i64:4096,a=2.5,x=f32[4096],y=inout:f32[4096]",
                             "scale<float,4>,y=out:f32[4096],x=f32[4096],n=4096",
                             "app::inc<float>,y=inout:f32[4096],n=u32:4096"}) {
    const Outcome outcome = run(std::string("stddef.cu:") + kernel + ",grid=16,block=256");
    ASSERT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << kernel << outcome.errors;
    EXPECT_THAT(json::parse(outcome.output).at("results")[0].at("algorithm").get<std::string>(),
                HasSubstr("not compiled, as there is no NVRTC"));
  }
}

const std::string kSaxpy =
    "'cuda:@saxpy:saxpy,n=64Ki,a=2.5,block=256,grid=n/block,x=f32[n],y=inout:f32[n]'" + kOnH200 + " --seed 3";
constexpr const char* kSaid = "does not model its arithmetic, its loops or how it reads";

TEST_F(Kernels, EachResultSaysThatTheArithmeticIsNotLookedAt) {
  use_no_compiler();
  const std::string quick = kSaxpy + " --cache warm --min-rounds 6 --time-limit 0.1";
  const Outcome outcome = run_tool("run " + quick + " --json " + path());
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  EXPECT_THAT(test::on_one_line(outcome.output),
              AllOf(HasSubstr("**only_moved**: simulated: the time is for moving the kernel's buffers once"),
                    Not(HasSubstr("of ceiling"))));
  const json record = json::parse(text());
  EXPECT_EQ(record.at("results")[0].at("findings")[0].at("id"), "only_moved");
  EXPECT_FALSE(record.at("summary")[0].contains("ceiling_share"));
  EXPECT_TRUE(record.at("summary")[0].contains("bytes_per_second"));
  EXPECT_THAT(run_tool("show " + path()).output, HasSubstr("only_moved"));
  const Outcome compared =
      run_tool("compare " + kSaxpy +
               " --vary block=128,256 --processes 2 --cache warm --time-limit 0.1 --min-rounds 6");
  EXPECT_THAT(test::on_one_line(compared.output), HasSubstr(kSaid)) << compared.errors;
  const Outcome explained = run_tool("explain " + kSaxpy + " --factors data --max-time 3");
  EXPECT_THAT(test::on_one_line(explained.output), HasSubstr(kSaid)) << explained.errors;
}

// Of what it would gain nothing is known either.
TEST_F(Kernels, NothingIsAdvisedForThem) {
  use_no_compiler();
  const Outcome outcome = run_tool(
      "advise " + kSaxpy + " --processes 2 --budget 10 --min-rounds 6 --time-limit 0.1 --json " + path());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const json found = json::parse(text());
  EXPECT_EQ(found.at("recommendations").size(), 0);
  EXPECT_EQ(found.at("steps").size(), 0);
  EXPECT_THAT(found.at("conclusions")[0].get<std::string>(), HasSubstr(kSaid));
}

TEST_F(Kernels, ACpuRefusesThem) {
  const Outcome outcome = run("mistake.cu:k" + kLaunch + "y=inout:f32[4096],n=4096", " --device cpu");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors,
              HasSubstr("k is a kernel for a GPU, and cpu has no loops for it; use --device cuda"));
}

}  // namespace
}  // namespace jitterscope
