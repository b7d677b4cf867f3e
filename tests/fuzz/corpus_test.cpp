// Runs each fuzzer over the inputs of its corpus: what one of them found once is not found again.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzzers.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = JITTERSCOPE_TEST_DATA;

std::string contents_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct FuzzerOverItsCorpus : testing::TestWithParam<Fuzzer> {};

TEST_P(FuzzerOverItsCorpus, FindsNothing) {
  int count = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kCorpus / GetParam().name)) {
    SCOPED_TRACE(entry.path());
    const std::string input = contents_of(entry.path());
    GetParam().run(input);
    GetParam().run(std::string_view(input).substr(0, input.size() / 2));
    ++count;
  }
  EXPECT_GT(count, 0);
  GetParam().run({});
}

INSTANTIATE_TEST_SUITE_P(Fuzzers, FuzzerOverItsCorpus, testing::ValuesIn(kFuzzers),
                         [](const auto& fuzzer) { return std::string(fuzzer.param.name); });

TEST(Corpus, HasAFolderForEachFuzzer) {
  std::vector<std::string> folders, names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kCorpus)) {
    folders.push_back(entry.path().filename());
  }
  for (const Fuzzer& fuzzer : kFuzzers) names.emplace_back(fuzzer.name);
  EXPECT_THAT(folders, testing::UnorderedElementsAreArray(names));
}

}  // namespace
}  // namespace jitterscope
