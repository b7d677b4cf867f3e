#include "group/rendezvous.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "group/group.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"

namespace jitterscope::group {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Rendezvous> rendezvous_at(const std::string& asked,
                                          const std::map<std::string, std::string>& environment = {},
                                          const std::string& launcher = "torchrun", std::int64_t rank = 0) {
  return open_rendezvous(asked, {.rank = rank, .size = 2, .local_rank = {}, .launcher = launcher},
                         [&](const char* name) -> const char* {
                           const auto found = environment.find(name);
                           return found == environment.end() ? nullptr : found->second.c_str();
                         });
}

Membership membership(std::int64_t rank, std::int64_t size) {
  return {.identity = {.rank = rank, .size = size, .local_rank = rank, .launcher = "torchrun"},
          .executable = "/bin/false",
          .command = "run",
          .patience = seconds(10)};
}

TEST(Rendezvous, AFolderHasAFileThatNobodyElseMayRead) {
  const TemporaryFolder folder;
  const std::string asked = "file:" + folder.path().string();
  const auto rank0 = rendezvous_at(asked), rank1 = rendezvous_at(asked);
  rank0->publish({.host = "node", .addresses = {"10.0.0.1"}, .port = 99, .token = "secret"});
  struct stat status {};
  ASSERT_EQ(::stat((folder.path() / "rendezvous").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  const MeetingPoint found = rank1->look_up(seconds(10));
  EXPECT_EQ(found.host, "node");
  EXPECT_EQ(found.addresses, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(found.port, 99);
  EXPECT_EQ(found.token, "secret");
  ::chmod((folder.path() / "rendezvous").c_str(), 0644);
  EXPECT_THROW(rank1->look_up(seconds(10)), FailedError) << "anybody could have read the token";
}

// As on a disk without room: a file may not grow.
TEST(Rendezvous, AFolderOnAFullDiskIsNamedAndStaysEmpty) {
  const TemporaryFolder folder;
  const auto rendezvous = rendezvous_at("file:" + folder.path().string());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  auto* const usual = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  std::string problem;
  try {
    rendezvous->publish({.host = "node", .addresses = {}, .port = 99, .token = "secret"});
  } catch (const FailedError& error) {
    problem = error.what();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, usual);
  EXPECT_THAT(problem, AllOf(HasSubstr("--rendezvous file:"), HasSubstr("cannot be written"),
                             HasSubstr(std::strerror(EFBIG))));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Rendezvous, NothingPublishedIsAnErrorAfterTheTime) {
  const TemporaryFolder folder;
  EXPECT_THROW(rendezvous_at("file:" + folder.path().string())->look_up(milliseconds(1)), FailedError);
}

TEST(Rendezvous, AnAddressNeedsATokenOfTheJob) {
  EXPECT_THROW(rendezvous_at("tcp://node:99"), UsageError);
  EXPECT_THROW(rendezvous_at("tcp://node:99", {{kTokenVariable, "short"}}), UsageError);
  EXPECT_THROW(rendezvous_at("tcp://node", {{kTokenVariable, std::string(32, '7')}}), UsageError);
  EXPECT_THROW(rendezvous_at("carrier pigeon"), UsageError);
  const MeetingPoint found =
      rendezvous_at("tcp://node:99", {{kTokenVariable, std::string(32, '7')}})->look_up(seconds(1));
  EXPECT_EQ(found.host, "node");
  EXPECT_EQ(found.port, 99);
  EXPECT_EQ(found.token, std::string(32, '7'));
}

// What is wrong with the place that was asked for, by the flag or by the variable.
std::string problem_with(const std::string& asked, const std::map<std::string, std::string>& environment = {},
                         const std::string& launcher = "torchrun", std::int64_t rank = 0) {
  try {
    rendezvous_at(asked, environment, launcher, rank);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(Rendezvous, ALauncherWithoutAnyIsNamedWithTheRemedy) {
  EXPECT_THAT(problem_with(""),
              AllOf(HasSubstr("torchrun started 2 ranks"), HasSubstr("--rendezvous file:FOLDER")));
}

TEST(Rendezvous, AWrongPlaceIsNamedAsItWasGiven) {
  const std::map<std::string, std::string> token = {{kTokenVariable, std::string(32, '7')}};
  EXPECT_THAT(problem_with("pigeon"), HasSubstr("--rendezvous pigeon: file:FOLDER"));
  EXPECT_THAT(problem_with("", {{kRendezvousVariable, "pigeon"}}),
              HasSubstr("JITTERSCOPE_RENDEZVOUS=pigeon: file:FOLDER"));
  for (const char* wrong : {"tcp://", "tcp://:99", "tcp://node", "tcp://node:", "tcp://node:0",
                            "tcp://node:65536", "tcp://node:9x", "tcp://[::1]:99", "tcp://::1:99"}) {
    EXPECT_THAT(problem_with(wrong, token), HasSubstr(std::string("--rendezvous ") + wrong)) << wrong;
  }
  EXPECT_THAT(problem_with("file:"), HasSubstr("--rendezvous file:"));
  EXPECT_THAT(problem_with("file:/nowhere/at/all"), HasSubstr("/nowhere/at/all is no folder"));
  EXPECT_THAT(problem_with("tcp://node:99"), HasSubstr("openssl rand -hex 16")) << "how to make a token";
}

TEST(Rendezvous, TheFlagIsAskedBeforeTheVariable) {
  const TemporaryFolder folder;
  const auto rendezvous = rendezvous_at("file:" + folder.path().string(), {{kRendezvousVariable, "pigeon"}});
  rendezvous->publish({.host = "node", .addresses = {}, .port = 99, .token = "secret"});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "rendezvous"));
}

TEST(Rendezvous, OfTorchrunIsBesideItsOwnPort) {
  std::map<std::string, std::string> environment = {
      {"MASTER_ADDR", "node3"}, {"MASTER_PORT", "29500"}, {kTokenVariable, std::string(32, '7')}};
  const auto rendezvous = rendezvous_at("", environment);
  EXPECT_EQ(rendezvous->look_up(seconds(1)).host, "node3");
  EXPECT_EQ(rendezvous->port(), 29501) << "29500 is torchrun's own";
  EXPECT_EQ(rendezvous->token(), std::string(32, '7'));
  environment["MASTER_PORT"] = "65535";
  EXPECT_EQ(rendezvous_at("", environment)->port(), 65534);
  environment["MASTER_PORT"] = "many";
  EXPECT_THAT(problem_with("", environment), HasSubstr("MASTER_PORT=many"));
  environment = {{"MASTER_ADDR", "node3"}, {"MASTER_PORT", "29500"}};
  EXPECT_THAT(problem_with("", environment), HasSubstr(kTokenVariable));
}

TEST(Rendezvous, OfSlurmIsItsFirstNode) {
  std::map<std::string, std::string> environment = {
      {"SLURM_JOB_ID", "1234"}, {"SLURM_STEP_ID", "2"}, {kTokenVariable, std::string(32, '7')}};
  const auto host = [&](const char* list) {
    environment["SLURM_STEP_NODELIST"] = list;
    return rendezvous_at("", environment, "Slurm")->look_up(seconds(1)).host;
  };
  EXPECT_EQ(host("node7"), "node7");
  EXPECT_EQ(host("node7,node9"), "node7");
  EXPECT_EQ(host("gpu[007-010,12],x1"), "gpu007");
  EXPECT_EQ(host("gpu[12,007-010]"), "gpu12");
  EXPECT_EQ(host("rack[3-4]n[1,5]-ib,other"), "rack3n1-ib");
  for (const char* wrong : {"", "gpu[1-2", "gpu]1", ",node7", "gpu[]", "gpu[[1]]"}) {
    environment["SLURM_STEP_NODELIST"] = wrong;
    EXPECT_THAT(problem_with("", environment, "Slurm"), HasSubstr("SLURM_STEP_NODELIST=")) << wrong;
  }
  environment.erase("SLURM_STEP_NODELIST");
  environment["SLURM_JOB_NODELIST"] = "n[4-5]";
  const auto of_job = rendezvous_at("", environment, "Slurm");
  EXPECT_EQ(of_job->look_up(seconds(1)).host, "n4");
  EXPECT_GE(of_job->port(), 20000);
  EXPECT_LT(of_job->port(), 30000) << "below the ports that systems give out themselves";
  environment["SLURM_STEP_ID"] = "3";
  EXPECT_NE(rendezvous_at("", environment, "Slurm")->port(), of_job->port()) << "steps run side by side";
}

TEST(Rendezvous, OfSlurmSaysWhenRankZeroIsElsewhere) {
  const std::map<std::string, std::string> environment = {{"SLURM_JOB_ID", "1234"},
                                                          {"SLURM_STEP_ID", "2"},
                                                          {"SLURM_STEP_NODELIST", "n[4-5]"},
                                                          {"SLURMD_NODENAME", "n5"},
                                                          {kTokenVariable, std::string(32, '7')}};
  EXPECT_THAT(problem_with("", environment, "Slurm"), AllOf(HasSubstr("rank 0 runs on n5"), HasSubstr("n4")));
  EXPECT_EQ(problem_with("", environment, "Slurm", 1), "") << "another rank may be anywhere";
}

// A launcher that speaks PMI-1 with one process, and takes its time for the last answer.
class SlowLauncher {
 public:
  SlowLauncher() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    programs_end = ends[0];
    thread_ = std::thread([this, own = ends[1]] { answer(own); });
  }
  ~SlowLauncher() {
    ::close(programs_end);
    thread_.join();
  }

  int programs_end = -1;
  std::atomic<bool> has_answered_all{false};

 private:
  static std::string answer_to(const std::string& line, std::map<std::string, std::string>& values) {
    const auto word = [&](const std::string& key) {
      const std::size_t begin = line.find(key) + key.size();
      return line.substr(begin, line.find(' ', begin) - begin);
    };
    if (line.starts_with("cmd=init")) return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
    if (line.starts_with("cmd=get_my_kvsname")) return "cmd=my_kvsname kvsname=space";
    if (line.starts_with("cmd=barrier_in")) return "cmd=barrier_out";
    if (line.starts_with("cmd=get ")) return "cmd=get_result rc=0 value=" + values[word("key=")];
    if (line.starts_with("cmd=finalize")) return "cmd=finalize_ack";
    values[word("key=")] = word("value=");
    return "cmd=put_result rc=0";
  }

  void answer(int own) {
    std::map<std::string, std::string> values;
    LineReader lines(own);
    while (!lines.is_over()) {
      const std::optional<std::string> line = lines.next(1000);
      if (!line) continue;
      const std::string text = answer_to(*line, values) + '\n';
      if (line->starts_with("cmd=finalize")) ::usleep(100'000);
      has_answered_all = line->starts_with("cmd=finalize");
      ::send(own, text.data(), text.size(), MSG_NOSIGNAL);
    }
    ::close(own);
  }

  std::thread thread_;
};

// MPICH's proxy fails, and the job with it, if a process is gone before the last answer.
TEST(Rendezvous, OverPmiEndsOnceTheLauncherHasAnswered) {
  SlowLauncher launcher;
  std::unique_ptr<Rendezvous> pmi = open_pmi(launcher.programs_end);
  pmi->publish({.host = "node", .addresses = {"10.0.0.1"}, .port = 99, .token = std::string(32, '7')});
  const MeetingPoint found = pmi->look_up(seconds(10));
  EXPECT_EQ(found.host, "node");
  EXPECT_EQ(found.port, 99);
  EXPECT_FALSE(launcher.has_answered_all);
  pmi.reset();
  EXPECT_TRUE(launcher.has_answered_all);
}

TEST(Rendezvous, TokensAreNeverTheSame) {
  EXPECT_EQ(new_meeting_point(1).token.size(), 32u);
  EXPECT_NE(new_meeting_point(1).token, new_meeting_point(1).token);
}

// The group, formed while `others` connects to it.
class Forming {
 public:
  explicit Forming(std::int64_t size, Nanoseconds patience = seconds(10)) {
    Membership own = membership(0, size);
    own.patience = patience;
    thread_ = std::thread([this, own] {
      try {
        const auto rendezvous = rendezvous_at(asked_);
        const Group group(own, *rendezvous, {});
        names_ = group.name_of(group.size() - 1);
      } catch (const Error& error) {
        problem_ = error.what();
      }
    });
  }
  ~Forming() {
    if (thread_.joinable()) thread_.join();
  }

  MeetingPoint point() { return rendezvous_at(asked_)->look_up(seconds(10)); }
  Connection connect() { return Connection(*connect_to("127.0.0.1", point().port, seconds(10))); }
  void be_rank(std::int64_t rank, std::int64_t size) {
    const auto rendezvous = rendezvous_at(asked_);
    agent_problem_ = be_agent(membership(rank, size), *rendezvous);
  }
  std::string problem() {
    thread_.join();
    return problem_;
  }
  std::string names_;
  std::optional<std::string> agent_problem_;

 private:
  TemporaryFolder folder_;
  std::string asked_ = "file:" + folder_.path().string();
  std::string problem_;
  std::thread thread_;
};

bool is_closed_by_other(Connection& connection) {
  while (connection.is_open()) {
    wait_for_input({connection.descriptor()}, 10'000);
    connection.read();
  }
  return true;
}

TEST(Group, IsFormedOfRankZeroAndAgents) {
  Forming forming(2);
  forming.be_rank(1, 2);
  EXPECT_EQ(forming.problem(), "");
  EXPECT_EQ(forming.agent_problem_, std::nullopt);
  EXPECT_THAT(forming.names_, HasSubstr("rank 1 ("));
}

TEST(Group, StrangersAreTurnedAwayAndDisturbNobody) {
  Forming forming(2);
  const MeetingPoint point = forming.point();
  for (const std::string& said :
       {std::string("GET / HTTP/1.1"), std::string(100'000, 'x'),
        write_hello(
            {.token = std::string(32, '0'), .rank = 1, .version = std::string(version()), .command = "run"}),
        write_hello({.token = "", .rank = 1, .version = std::string(version()), .command = "run"})}) {
    Connection stranger = forming.connect();
    stranger.write(said);
    EXPECT_TRUE(is_closed_by_other(stranger));
    EXPECT_EQ(stranger.next_line(), std::nullopt) << "not a word to who does not know the token";
  }
  forming.be_rank(1, 2);
  EXPECT_EQ(forming.problem(), "");
}

TEST(Group, RanksThatNeverComeAreNamed) {
  Forming forming(4, seconds(2));
  Connection one = forming.connect();
  one.write(write_hello(own_hello(membership(2, 4), forming.point().token)));
  one.close();  // so that nobody waits for it at the end
  EXPECT_THAT(forming.problem(), HasSubstr("of 4 ranks, 2 have not come within 2 s: 1, 3;"));
}

TEST(Group, ARankOfAnotherVersionOrCommandIsRefusedWithBothNamed) {
  Hello hello = own_hello(membership(1, 2), "");
  hello.version = "0.0.7";
  {
    Forming forming(2);
    hello.token = forming.point().token;
    forming.connect().write(write_hello(hello));
    EXPECT_THAT(forming.problem(), HasSubstr("runs jitterscope 0.0.7, rank 0 " + std::string(version())));
  }
  hello.version = version();
  hello.command = "run another";
  Forming forming(2);
  hello.token = forming.point().token;
  Connection rank = forming.connect();
  rank.write(write_hello(hello));
  EXPECT_THAT(forming.problem(), HasSubstr("rank 1 was started as 'run another', rank 0 as 'run'"));
  is_closed_by_other(rank);
  const auto answer = rank.next_line();
  ASSERT_TRUE(answer);
  EXPECT_EQ(read_message(*answer).kind, MessageKind::refuse);
}

TEST(Group, TwoProcessesOfOneRankAreRefused) {
  Forming forming(3);
  const std::string hello = write_hello(own_hello(membership(1, 3), forming.point().token));
  Connection one = forming.connect(), other = forming.connect();
  one.write(hello);
  other.write(hello);
  one.close();
  other.close();
  EXPECT_THAT(forming.problem(), HasSubstr("two processes are rank 1"));
}

}  // namespace
}  // namespace jitterscope::group
