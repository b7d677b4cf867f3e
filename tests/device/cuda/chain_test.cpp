// Chains on a GPU: every order gives the right result, and none at all gives a wrong one that is found.
#include <fmt/format.h>

#include "cuda_test.hpp"
#include "measure/verify.hpp"

namespace jitterscope {
namespace {

class CudaChain : public CudaTest {
 protected:
  Verification verify_chain(const std::string& text) {
    const auto chain = prepare(text);
    run_and_read(*chain);  // what the driver loads at a first launch, it cannot load in a held queue
    return verify(queue(), *chain);
  }
};

TEST_F(CudaChain, EveryOrderGivesTheRightResult) {
  for (const char* how :
       {"", ",lanes=4,streams=4", ",lanes=4,streams=2", ",streams=2,spread=step",
        ",lanes=3,streams=3,spread=step", ",streams=4,spread=step,order=joins",
        ",lanes=4,streams=4,order=joins", ",high_priority=1", ",lanes=2,streams=2,high_priority=1",
        ",load_ns=50000", ",load_ns=50000,high_priority=1", ",lanes=2,streams=2,load_ns=50000"}) {
    for (const char* steps :
         {"[gelu:count=1Mi]*4", "[copy:bytes=4Mi,kind=h2d][relu:count=1Mi][copy:bytes=4Mi,kind=d2h]",
          "[add:count=1001]*5"}) {
      const std::string text = fmt::format("chain:{}{}", steps, how);
      const Verification verification = verify_chain(text);
      EXPECT_TRUE(verification.passed)
          << text << ": error " << verification.relative_error << ", unwritten " << verification.unwritten;
    }
  }
}

TEST_F(CudaChain, ConversionsHandOnAndAreHandedOn) {
  for (const char* steps : {"[convert:n=4,c=32,hw=14,from=nchw,to=nhwc,dtype=f16]"
                            "[conv2d:n=4,c=32,hw=14,k=64,rs=3,pad=1,dtype=f16,layout=nhwc]"
                            "[convert:n=4,c=64,hw=14,from=nhwc,to=nchw,dtype=f16]",
                            "[convert:n=4,c=32,hw=14,from=nchw,to=nhwc,dtype=tf32]"
                            "[conv2d:n=4,c=32,hw=14,k=64,rs=3,pad=1,dtype=tf32,layout=nhwc]"
                            "[convert:n=4,c=64,hw=14,from=nhwc,to=nchw,dtype=tf32]",
                            "[convert:count=16Ki,to_dtype=f16][linear:n=64,in=256,out=128,dtype=f16]",
                            "[conv2d:n=4,c=32,hw=14,k=64,rs=3,pad=1,dtype=bf16,direction=wgrad]"
                            "[convert:count=18432,dtype=bf16,to_dtype=f32]",
                            "[convert:n=2,c=8,hw=16,to=nhwc][max_pool:n=2,c=8,hw=16,window=2,layout=nhwc]"
                            "[convert:n=2,c=8,hw=8,from=nhwc,to=nchw]"}) {
    for (const char* how : {"", ",lanes=2,streams=2", ",streams=2,spread=step"}) {
      const std::string text = fmt::format("chain:{}{}", steps, how);
      const Verification verification = verify_chain(text);
      EXPECT_TRUE(verification.passed)
          << text << ": error " << verification.relative_error << ", unwritten " << verification.unwritten;
    }
  }
}

TEST_F(CudaChain, EveryWaitGivesTheRightResult) {
  for (const char* wait : {"stream", "event", "device", "blocking", "polling", "yielding", "value"}) {
    for (const char* after : {"lane", "step"}) {
      const std::string text =
          fmt::format("chain:[gelu:count=64Ki]*3,lanes=4,streams=2,wait={},wait_after={}", wait, after);
      EXPECT_TRUE(verify_chain(text).passed) << text;
    }
  }
  EXPECT_THROW(prepare("chain:[copy:bytes=4Ki,kind=d2h],wait=value"), UsageError);
  EXPECT_THROW(prepare("chain:[spin:ns=1],wait=value"), UsageError);
}

TEST_F(CudaChain, WithoutOrderTheResultIsWrongAndFound) {
  const Verification verification =
      verify_chain("chain:[gelu:count=1Mi]*16,streams=2,spread=step,order=none");
  EXPECT_FALSE(verification.passed);
  EXPECT_GT(verification.unwritten, 0);
}

TEST_F(CudaChain, AThousandLaunchesAreOneChain) {
  const Verification verification = verify_chain("chain:[relu:count=1Ki],lanes=1000");
  EXPECT_TRUE(verification.passed);
  EXPECT_EQ(verification.checked, 1000 * 1024);
}

TEST_F(CudaChain, ARecordingHoldsAllOfIt) {
  for (const char* text :
       {"chain:[gelu:count=1Mi]*2,lanes=4,streams=4", "chain:[gelu:count=1Mi]*4,streams=2,spread=step",
        "chain:[gelu:count=1Mi]*2,load_ns=50000,high_priority=1"}) {
    const auto chain = prepare(text);
    const std::vector<double> right = run_and_read(*chain);
    const auto recording = queue().record([&](Queue& recorded) { recorded.launch(*chain); });
    for (int replay = 0; replay < 2; ++replay) {
      chain->poison_outputs();
      queue().replay(*recording);
      queue().wait();
      EXPECT_EQ(chain->read_operand(chain->operation().operands().size() - 1), right) << text;
    }
  }
}

TEST_F(CudaChain, StreamsHaveWorkspacesOfTheirOwn) {
  for (int run = 0; run < 5; ++run) {
    const Verification verification =
        verify_chain("chain:[matmul:m=256,n=256,k=8192,dtype=f16],lanes=8,streams=8");
    EXPECT_TRUE(verification.passed) << verification.relative_error;
  }
}

}  // namespace
}  // namespace jitterscope
