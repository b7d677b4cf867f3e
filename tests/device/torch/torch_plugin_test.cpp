#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "device/torch/plugin.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::torch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Names a plug-in for the life of a test.
class TorchPlugin : public ::testing::Test {
 protected:
  ~TorchPlugin() override { unsetenv("JITTERSCOPE_TORCH_PLUGIN"); }

  static std::filesystem::path stand_in(const std::string& name) {
    return std::filesystem::path(JITTERSCOPE_STAND_IN_FOLDER) / name;
  }
  static void take(const std::filesystem::path& file) { setenv("JITTERSCOPE_TORCH_PLUGIN", file.c_str(), 1); }
  static void take_stand_in(const std::string& name) { take(stand_in("libstand_in_" + name + ".so")); }

  static std::unique_ptr<PreparedOperation> prepare(const std::string& text) {
    return prepare_aten(Operation::parse(text), {}, {.device_type = "cpu"});
  }
  template <class Kind>
  static std::string problem(const std::string& text) {
    try {
      prepare(text);
    } catch (const Kind& error) {
      return error.what();
    }
    return {};
  }
};

TEST_F(TorchPlugin, PreparesRunsAndReads) {
  take_stand_in("good");
  const auto prepared = prepare("aten::count(f32[4])");
  EXPECT_EQ(prepared->provider(), "torch");
  EXPECT_EQ(prepared->algorithm(), "aten::count");
  EXPECT_EQ(prepared->operation().text(), "aten::count(f32[4])");
  prepared->run(nullptr);
  prepared->run(nullptr);
  EXPECT_EQ(prepared->read_operand(0), std::vector<double>{2.0});
  ASSERT_EQ(prepared->memory().size(), 1u);
  EXPECT_EQ(prepared->memory().front().size, Bytes(8));
  EXPECT_TRUE(prepared->produce_inputs(nullptr));
  EXPECT_THROW(prepared->read_operand(1), UsageError);
}

// The plug-in says where its input was given; an output that it keeps can be shared in turn.
TEST_F(TorchPlugin, OperandsLieWhereTheirOwnersDo) {
  take_stand_in("good");
  const auto owner = prepare("aten::first(f32[256])");
  const auto given = [&](const std::string& text, const SharedOperand& shared) {
    const auto reader = prepare_aten(Operation::parse(text), {.shared = {shared}}, {.device_type = "cpu"});
    return dynamic_cast<const OperandMemory&>(*reader).operand_memory().front().address;
  };
  const std::vector<MemoryRegion> owned = dynamic_cast<const OperandMemory&>(*owner).operand_memory();
  ASSERT_EQ(owned.size(), 2u);
  EXPECT_EQ(owned[0].address, nullptr);  // nobody's: memory of its own
  const SharedOperand output{0, owner.get(), 1};
  EXPECT_EQ(given("aten::second(f64[1])", output), owned[1].address);
  EXPECT_EQ(given("aten::second(f64[2])", output), nullptr);                      // larger than it is
  EXPECT_EQ(given("aten::second(f64[1])", {0, owner.get(), 2}), nullptr);         // there is no such output
  EXPECT_EQ(given("aten::second(f32[256])", {0, owner.get(), 0}), nullptr);       // it has no address
  EXPECT_EQ(given("aten::second(f32[1],f64[1])", {1, owner.get(), 1}), nullptr);  // the other argument's
  EXPECT_FALSE(is_filled_by_owner(output));
  EXPECT_TRUE(is_filled_by_owner({0, owner.get(), 0}));
}

TEST_F(TorchPlugin, AnswersBecomeErrorsOfTheirKind) {
  take_stand_in("good");
  EXPECT_EQ(problem<UsageError>("aten::unknown()"), "no such operator");
  EXPECT_EQ(problem<MissingError>("aten::absent()"), "no CUDA here");
  const auto prepared = prepare("aten::fails()");
  EXPECT_THROW(prepared->run(nullptr), FailedError);
}

TEST_F(TorchPlugin, OperatorsThatWaitSaySo) {
  take_stand_in("good");
  EXPECT_TRUE(Handle(Operation::parse("aten::waits()"), {}, {.device_type = "cpu"}).waits_for_queue());
  EXPECT_FALSE(Handle(Operation::parse("aten::count()"), {}, {.device_type = "cpu"}).waits_for_queue());
}

TEST_F(TorchPlugin, OneThatIsMissingIsToBeBuilt) {
  take("/nowhere/libjitterscope_torch.so");
  EXPECT_THAT(problem<MissingError>("aten::relu(f32[1])"),
              AllOf(HasSubstr("/nowhere/libjitterscope_torch.so"), HasSubstr("scripts/build-torch-plugin")));
  EXPECT_THAT(torch_library().problem, HasSubstr("is not there"));
}

TEST_F(TorchPlugin, AnotherInterfaceVersionIsRefused) {
  take_stand_in("other_version");
  EXPECT_THAT(problem<MissingError>("aten::relu(f32[1])"),
              AllOf(HasSubstr("version 77"), HasSubstr("build it with")));
  EXPECT_THAT(torch_library().problem, HasSubstr("version 77"));
}

TEST_F(TorchPlugin, AnotherPytorchThanItsOwnIsNamed) {
  take_stand_in("other_torch");
  EXPECT_THAT(problem<MissingError>("aten::relu(f32[1])"),
              AllOf(HasSubstr("built with PyTorch 9.9.9"), HasSubstr("C++ ABI 0"), HasSubstr("not there now"),
                    HasSubstr("symbol_of_another_pytorch")));
}

TEST_F(TorchPlugin, AnotherLibraryIsNone) {
  take_stand_in("not_a_plugin");
  EXPECT_THAT(problem<MissingError>("aten::relu(f32[1])"), HasSubstr("is not a plug-in"));
  EXPECT_THAT(torch_library().problem, HasSubstr("is not a plug-in"));
}

TEST_F(TorchPlugin, ItsFileSaysWhatItWasBuiltWith) {
  const BuiltWith built = read_built_with(stand_in("libstand_in_good.so"));
  EXPECT_EQ(built.torch, "9.9.9");
  EXPECT_EQ(built.abi, "0");
  EXPECT_EQ(built.cuda, "");
  EXPECT_EQ(built.interface_version, unsigned{JITTERSCOPE_TORCH_INTERFACE_VERSION});
  EXPECT_EQ(built.folder, "/nowhere/torch/lib");
  EXPECT_EQ(read_built_with("/nowhere/file").torch, std::nullopt);
}

TEST_F(TorchPlugin, ThePytorchOfAFolderIsReadFromItsVersionFile) {
  const std::filesystem::path root = std::filesystem::path(::testing::TempDir()) / "found_torch";
  std::filesystem::create_directories(root / "lib");
  EXPECT_EQ(found_torch(root / "lib"), "");
  std::ofstream(root / "lib" / "libtorch.so") << "";
  EXPECT_EQ(found_torch(root / "lib"), "of unknown version");
  std::ofstream(root / "version.py") << "__all__ = []\n__version__ = '2.10.0+cpu'\ndebug = False\n";
  EXPECT_EQ(found_torch(root / "lib"), "2.10.0+cpu");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace jitterscope::torch
