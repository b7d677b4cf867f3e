// The record of collectives: valid, read as it was written, and what its table and findings say.
#include <gmock/gmock.h>

#include "commands/records.hpp"
#include "output/sample_record.hpp"
#include "record/validate_record.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CollectiveRow row_of(double bytes, double time_us, double half, double eager_us) {
  const auto around = [](double value, double half_width) {
    return TimeEstimate{microseconds(value), microseconds(value - half_width),
                        microseconds(value + half_width), 96};
  };
  const auto elements = static_cast<std::int64_t>(bytes / 2);
  const std::string operation = "all_reduce:count=" + std::to_string(elements) + ",dtype=bf16,ranks=2";
  CollectiveRow row{.collective = "all_reduce",
                    .bytes = Bytes(static_cast<std::int64_t>(bytes)),
                    .elements = elements,
                    .dtype = "bf16",
                    .reduction = "sum",
                    .root = -1,
                    .bus_factor = 1.0,
                    .result = {},
                    .failure = {}};
  row.result.times = {{.operation = operation,
                       .time = around(time_us, half),
                       .groups = {microseconds(time_us), microseconds(time_us)},
                       .wrong_elements = 0,
                       .sustained = RatioEstimate{1.018, 1.012, 1.024}}};
  row.result.eager_adds = around(eager_us, 0.4);
  row.result.launches = CollectiveLaunches{.costs = {microseconds(39.9), microseconds(40.2)}};
  CollectiveWaiting waiting{.median = microseconds(1.9),
                            .p95 = microseconds(6.2),
                            .last_shares = {0.29, 0.71},
                            .chance = 0.06,
                            .rounds = 1600,
                            .late_rank = 1,
                            .late_by = microseconds(1.9),
                            .late_by_launches = microseconds(1.6),
                            .late_by_work = microseconds(0.1),
                            .proofs = {}};
  waiting.proofs = {{.rank = 0,
                     .delay = microseconds(5),
                     .expected = microseconds(4.1),
                     .seen = around(4.2, 0.1),
                     .holds = true},
                    {.rank = 1,
                     .delay = microseconds(5),
                     .expected = microseconds(5),
                     .seen = around(5.1, 0.1),
                     .holds = true}};
  row.result.waiting = waiting;
  return row;
}

CollectivesRecord two_ranks() {
  CollectivesRecord record;
  record.environment = test::sample_operation().environment;
  record.device = test::sample_operation().device;
  record.ranks = {{"node1", record.device}, {"node1", record.device}};
  record.library = "NCCL 2.28.9";
  record.settings = {{"NCCL_NVLS_ENABLE", "0"}};
  record.groups = 8;
  record.rows = {row_of(1024, 9.41, 0.06, 38.1), row_of(1 << 20, 19.8, 0.08, 21.0),
                 row_of(1 << 30, 3254, 3.2, 2.0)};
  return record;
}

std::string shown(const CollectivesRecord& record, std::size_t width = 120) {
  return record_text(AnyRecord(record), {.width = width});
}

TEST(CollectivesRecord, IsValidAndIsReadAsItWas) {
  CollectivesRecord record = two_ranks();
  record.rows[1].result = {};
  record.rows[1].failure = "out of memory";
  record.rows[2].result.times[0].wrong_elements.reset();
  record.notes = {"group 3 is lost: rank 1 has ended"};
  const std::string text = write_record(record);
  EXPECT_EQ(validate_record(text), 0);
  EXPECT_EQ(write_record(std::get<CollectivesRecord>(read_record(text, "r.json"))), text);
}

TEST(CollectivesRecord, SaysBandwidthsAndWaits) {
  const std::string text = shown(two_ranks());
  EXPECT_THAT(text, HasSubstr("2 ranks** on 1 host (2 × "));
  EXPECT_THAT(text, HasSubstr("NCCL 2.28.9 (NCCL_NVLS_ENABLE=0)"));
  EXPECT_THAT(text,
              HasSubstr("| 1 GiB | 536870912 | 3.254 ms |  ± 0.1 % |   330 |   330 |      0 |    +1.8 % |"));
  EXPECT_THAT(text, HasSubstr("rank 1 71 %"));
  EXPECT_THAT(text,
              HasSubstr("**late_rank**: rank 1 comes last in 71 % of the rounds of all_reduce of 1 KiB"));
  EXPECT_THAT(text, HasSubstr("**launch_bound**: up to 1 MiB"));
}

// A GPU that is late by 50 us adds as much to each call that is launched.
TEST(CollectivesRecord, CallsAWaitNoCostOfLaunches) {
  CollectivesRecord record = two_ranks();
  for (CollectiveRow& row : record.rows) row.result.launches->costs = {microseconds(3), microseconds(3.1)};
  EXPECT_THAT(shown(record), AllOf(HasSubstr("**late_rank**"), Not(HasSubstr("launch_bound"))));
}

TEST(CollectivesRecord, SaysWhichHostIsSlow) {
  CollectivesRecord record = two_ranks();
  for (CollectiveRow& row : record.rows) {
    row.result.launches = CollectiveLaunches{.costs = {microseconds(3.1), microseconds(47)}, .slow_host = 1};
    row.result.waiting->late_rank.reset();
    row.result.waiting->chance = 0.6;
  }
  const std::string text = shown(record, 1000);
  EXPECT_THAT(text,
              HasSubstr("**slow_host**: rank 1's host takes 47 µs to launch all_reduce of 1 KiB, the others' "
                        "3.1 µs: where each call is launched, all ranks wait for it, 38 µs a call"));
  EXPECT_THAT(text, HasSubstr("or more: the work of 100 µs before each collective hides the slow host."));
  EXPECT_THAT(text, Not(HasSubstr("launch_bound"))) << "one host's launches are no cost of all";
  record.rows.erase(record.rows.begin(), record.rows.begin() + 2);
  EXPECT_THAT(shown(record, 1000), HasSubstr("3.1 µs; a transfer of 3.3 ms hides that"));

  record = two_ranks();
  record.rows[0].result.launches->slow_host = 2;
  EXPECT_THROW(read_record(write_record(record), "r.json"), UsageError);
  record = two_ranks();
  record.rows[0].result.launches->slow_host = 0;
  record.rows[0].result.waiting->is_host_behind = true;
  record.rows[0].result.waiting->proofs[0].holds = false;
  EXPECT_THAT(shown(record, 1000),
              HasSubstr(", as the slow host is behind anyway, which hides it; nothing is said"));
  const std::string written = write_record(record);
  EXPECT_EQ(validate_record(written), 0);
  EXPECT_EQ(write_record(std::get<CollectivesRecord>(read_record(written, "r.json"))), written);
}

TEST(CollectivesRecord, SaysNoShareBeyondAllRounds) {
  CollectivesRecord record = two_ranks();
  for (CollectiveRow& row : record.rows) {
    row.result.waiting->late_rank.reset();
    row.result.waiting->chance = 1.8;
  }
  EXPECT_THAT(shown(record, 1000), AllOf(HasSubstr("(by chance 0 to 100 %)"), Not(HasSubstr("± 180"))));
}

TEST(CollectivesRecord, ExplainsNoColumnThatIsNotThere) {
  CollectivesRecord record = two_ranks();
  EXPECT_THAT(shown(record, 1000), HasSubstr("Behind by: of the rank"));
  for (CollectiveRow& row : record.rows) row.result.waiting->chance = 0.6;
  EXPECT_THAT(shown(record, 1000), AllOf(Not(HasSubstr("behind by")), Not(HasSubstr("Behind by"))));
}

TEST(CollectivesRecord, WithoutAGroupSaysSo) {
  CollectivesRecord record = two_ranks();
  record.ranks.clear();
  record.rows.clear();
  record.groups = 0;
  record.interrupted = true;
  EXPECT_EQ(shown(record), "Interrupted before all ranks were timed once: there are no results.\n");
  record.notes = {"Lost: one", "Lost: two"};
  EXPECT_EQ(shown(record),
            "Interrupted before all ranks were timed once: there are no results.\n\n"
            "- Lost: one\n- Lost: two\n");
  record.interrupted = false;
  EXPECT_THAT(shown(record), testing::StartsWith("No group of ranks was timed.\n"));
}

TEST(RecordsOfSeveralGpus, ThatWereInterruptedBeforeAResultSaySo) {
  DevicesRecord devices;
  devices.interrupted = true;
  EXPECT_EQ(record_text(AnyRecord(devices), {}),
            "Interrupted before all GPUs were timed once: there are no results.\n");
  ParallelStudyRecord study;
  study.interrupted = true;
  const std::string text = record_text(AnyRecord(study), {});
  EXPECT_THAT(text, HasSubstr("Interrupted before all arms were timed once: there are no results.\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("0 ranks")), Not(HasSubstr("| arm"))));
}

// All of a load is held by the cap on both: then no longer, but lower, is what is known.
TEST(RecordsOfSeveralGpus, SayThatACapHoldsALowerClock) {
  const auto device = [](double ratio, statistics::EffectVerdict verdict) {
    DeviceBesideOthers made{.time = {microseconds(10), microseconds(10), microseconds(10), 12},
                            .processes = {microseconds(10), microseconds(10)},
                            .against_others = {ratio, ratio, ratio},
                            .verdict = verdict,
                            .state = {},
                            .why = {DeviceCause::clock, {}, "1365 MHz", "1395 MHz"}};
    made.state.held_by_power = 1.0;
    return made;
  };
  DevicesRecord record;
  record.devices.resize(2);
  record.comparisons = {{.operation = "spin:ns=1000",
                         .cache = CacheState::warm,
                         .load = Load::sustained,
                         .beside = {{.at_once = false,
                                     .devices = {device(1.02, statistics::EffectVerdict::slower),
                                                 device(0.98, statistics::EffectVerdict::faster)}}}}};
  EXPECT_THAT(record_text(AnyRecord(record), {.width = 1000}),
              AllOf(HasSubstr("a power cap holds its clock no longer than the others', but lower (1365 MHz"),
                    Not(HasSubstr("neither a cap"))));
}

TEST(CollectivesRecord, SaysNothingOfWhoIsLateUnlessThatIsProven) {
  CollectivesRecord record = two_ranks();
  for (CollectiveRow& row : record.rows) row.result.waiting->proofs[1].holds = false;
  const std::string text = shown(record);
  EXPECT_THAT(text, HasSubstr("**lateness_unproven**: rank 1 came 5.0 µs later on purpose"));
  EXPECT_THAT(text, Not(HasSubstr("late_rank")));
  EXPECT_THAT(text, AllOf(HasSubstr("| not proven |\n"), Not(HasSubstr("| behind by"))));
}

// 75 % of rounds where chance alone makes 11 to 89 %: the row says no more of who is late than the headline.
TEST(CollectivesRecord, SaysOneThingOfWhoIsLateInTheRowAndAbove) {
  CollectivesRecord record = two_ranks();
  for (CollectiveRow& row : record.rows) {
    row.result.waiting->late_rank.reset();
    row.result.waiting->last_shares = {0.75, 0.25};
    row.result.waiting->chance = 0.39;
    row.result.waiting->late_by = microseconds(6.3);
  }
  const std::string text = shown(record);
  EXPECT_THAT(
      text, HasSubstr("No rank comes last more often than by chance, by 0.5 µs or more: rank 0 75 % is the"));
  EXPECT_THAT(text, HasSubstr("by chance 50 ± 39 %"));
  EXPECT_THAT(text, AllOf(HasSubstr("| by chance  |\n"), Not(HasSubstr("| behind by"))));
  EXPECT_THAT(text, Not(HasSubstr("6.3 µs")));

  // More often than by chance, by less than anybody would act on: both say so.
  for (CollectiveRow& row : record.rows) {
    row.result.waiting->chance = 0.1;
    row.result.waiting->late_by = microseconds(0.4);
  }
  const std::string little = shown(record);
  EXPECT_THAT(little, HasSubstr("No rank comes last more often than by chance, by 0.5 µs or more."));
  EXPECT_THAT(little, HasSubstr("rank 0 75 % |    400 ns"));
}

LinkRates link_to(std::int64_t peer, double rate, const std::string& way) {
  return {.peer = peer,
          .way = way,
          .by_copy_engine = rate,
          .by_copy_engine_both_ways = 1.9 * rate,
          .by_kernel = 0.9 * rate,
          .by_kernel_both_ways = 1.7 * rate};
}

TEST(CollectivesRecord, SaysLinksAndWhatShareOfThemIsReached) {
  CollectivesRecord record = two_ranks();
  EXPECT_THAT(shown(record), Not(HasSubstr("of link")));
  record.ranks[0].links = {link_to(1, 372e9, "NV18")};
  record.ranks[1].links = {link_to(0, 372e9, "NV18")};
  const std::string text = shown(record);
  EXPECT_THAT(text,
              HasSubstr("Links, measured: copy engine 372 GB/s one way, 707 both; by kernel 335 one way, "
                        "632 both (NV18)."));
  EXPECT_THAT(text, HasSubstr("|   330 |    89 % |"));
  EXPECT_THAT(text, Not(HasSubstr("from 0"))) << "two ranks have one pair";
  EXPECT_THAT(record_text(AnyRecord(record), {.width = 120, .details = true}), HasSubstr("from 0"));
  const std::string written = write_record(record);
  EXPECT_EQ(validate_record(written), 0);
  EXPECT_EQ(write_record(std::get<CollectivesRecord>(read_record(written, "r.json"))), written);
}

TEST(CollectivesRecord, SaysLinksByPairsOfMoreRanks) {
  CollectivesRecord record = two_ranks();
  record.ranks.push_back(record.ranks[0]);
  record.ranks[0].links = {link_to(1, 372e9, "NV18"), link_to(2, 24e9, "system")};
  record.ranks[1].links = {link_to(0, 371e9, "NV18"), link_to(2, 24e9, "system")};
  record.ranks[2].links = {link_to(0, 24e9, "system"), link_to(1, 24e9, "system")};
  const std::string text = shown(record);
  EXPECT_THAT(text, HasSubstr("copy engine 24.0 to 372 GB/s one way"));
  EXPECT_THAT(text, HasSubstr("(NV18; system)"));
  EXPECT_THAT(text, HasSubstr("|    1 |    371 NV18 |           – | 24.0 system |"));
  // All must cross the slow link: 53.0 GB/s of 24 are 2.2 times, not 14 %.
  EXPECT_THAT(text, HasSubstr("|  53.0 |   221 % |"));
  for (int rank = 3; rank < 16; ++rank) record.ranks.push_back(record.ranks[2]);
  EXPECT_THAT(shown(record), Not(HasSubstr("from 0")));  // a table of 16 by 16
}

TEST(CollectivesRecord, SaysWrongElementsFirst) {
  CollectivesRecord record = two_ranks();
  record.rows[2].result.times[0].wrong_elements = 7;
  EXPECT_TRUE(has_wrong_elements(record));
  EXPECT_THAT(shown(record), HasSubstr("1. **wrong**: 7 elements of all_reduce:count=536870912"));
}

// Twice the bytes in more than twice the time, beyond both intervals.
TEST(CollectivesRecord, SaysWhereMoreBytesHaveLessBandwidth) {
  CollectivesRecord record = two_ranks();
  record.rows = {row_of(1 << 20, 20, 0.1, 0.1), row_of(1 << 21, 60, 0.1, 0.1)};
  EXPECT_THAT(shown(record),
              HasSubstr("**bandwidth_dip**: all_reduce has 52.4 GB/s at 1 MiB and 35.0 at 2 MiB"));
  record.rows[1] = row_of(1 << 21, 41, 3.0, 0.1);
  EXPECT_THAT(shown(record), Not(HasSubstr("bandwidth_dip")));
}

TEST(CollectivesRecord, OfRanksThatDoNotExistIsDamaged) {
  CollectivesRecord record = two_ranks();
  record.rows[0].result.waiting->late_rank = 2;
  EXPECT_THROW(read_record(write_record(record), "r.json"), UsageError);
  record = two_ranks();
  record.rows[0].result.waiting->proofs[0].rank = -1;
  EXPECT_THROW(read_record(write_record(record), "r.json"), UsageError);
  record = two_ranks();
  record.ranks[0].links = {link_to(2, 372e9, "")};
  EXPECT_THROW(read_record(write_record(record), "r.json"), UsageError);
  record = two_ranks();
  record.rows[0].result.waiting->last_shares.clear();
  record.rows[0].result.waiting->late_rank.reset();
  EXPECT_THROW(read_record(write_record(record), "r.json"), UsageError);
}

TEST(CollectivesRecord, DrawsBandwidthAndWaits) {
  const std::vector<Plot> plots = plots_of(AnyRecord(two_ranks()));
  ASSERT_EQ(plots.size(), 2u);
  EXPECT_EQ(plots[0].id, "bandwidth");
  EXPECT_EQ(plots[0].table.front().cells.size(), 3u);
  EXPECT_EQ(plots[1].id, "waiting");
}

}  // namespace
}  // namespace jitterscope
