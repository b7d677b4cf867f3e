#include "selftest/run_proofs.hpp"

#include <gmock/gmock.h>

#include <set>

#include "jitterscope/error.hpp"

namespace jitterscope::selftest {
namespace {

std::vector<std::string> names(const std::vector<const Proof*>& proofs) {
  std::vector<std::string> list;
  for (const Proof* proof : proofs) list.emplace_back(proof->name);
  return list;
}

TEST(Proofs, EachHasANameASummaryAndATime) {
  std::set<std::string_view> seen;
  for (const Proof& proof : all_proofs()) {
    EXPECT_TRUE(seen.insert(proof.name).second) << proof.name;
    EXPECT_FALSE(proof.summary.empty());
    EXPECT_GT(proof.quick_time, Nanoseconds(0));
    EXPECT_GE(proof.full_time, proof.quick_time);
    EXPECT_NE(proof.prove, nullptr);
  }
}

TEST(Proofs, WithoutNamesThoseOfThePlace) {
  EXPECT_EQ(names(choose_proofs(Place::machine, {})),
            (std::vector<std::string>{"spin", "cycles", "copies", "clock", "trace", "pairs"}));
}

TEST(Proofs, NamedOnesRunInTheTablesOrder) {
  const std::vector<std::string> asked = {"pairs", "spin"};
  EXPECT_EQ(names(choose_proofs(Place::machine, asked)), (std::vector<std::string>{"spin", "pairs"}));
  // Those of a machine run on a virtual device as well.
  EXPECT_EQ(names(choose_proofs(Place::simulation, asked)), (std::vector<std::string>{"spin", "pairs"}));
}

TEST(Proofs, AnUnknownNameIsAnsweredByTheNearest) {
  const std::vector<std::string> asked = {"copeis"};
  try {
    choose_proofs(Place::machine, asked);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--only: there is no proof 'copeis' (did you mean 'copies'?)");
  }
}

}  // namespace
}  // namespace jitterscope::selftest
