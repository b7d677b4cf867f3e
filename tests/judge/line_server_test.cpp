#include "judge/line_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::judging {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Descriptor connected(const std::filesystem::path& path) {
  Descriptor client(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  if (::connect(client.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    client.close();
  return client;
}

void say(const Descriptor& client, const std::string& text) {
  ASSERT_EQ(::send(client.number(), text.data(), text.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(text.size()));
}

std::string heard(const Descriptor& client) {
  std::string text(4096, '\0');
  const ssize_t count = ::recv(client.number(), text.data(), text.size(), MSG_DONTWAIT);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

class LineServerTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "socket";
  std::vector<std::string> asked_;

  // Answers all that waits: it ends at the second moment in which nothing does.
  void serve(LineServer& server) {
    int idle = 0;
    server.serve(
        [&](const std::string& line) {
          asked_.push_back(line);
          return "to " + line;
        },
        [&] { ++idle; }, [&] { return idle >= 2; });
  }
};

TEST_F(LineServerTest, RequestsAreAnsweredInOrder) {
  LineServer server(path_);
  const Descriptor client = connected(path_);
  say(client, "one\ntwo\nthr");
  say(client, "ee\n");
  serve(server);
  EXPECT_THAT(asked_, ElementsAre("one", "two", "three"));
  EXPECT_EQ(heard(client), "to one\nto two\nto three\n");
}

TEST_F(LineServerTest, OnlyTheUserMayOpenItAndItIsRemoved) {
  {
    const LineServer server(path_);
    struct stat found {};
    ASSERT_EQ(::lstat(path_.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
    EXPECT_THROW(LineServer{path_}, UsageError);  // somebody serves it
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(LineServerTest, ASocketThatNobodyServesIsReplacedAndAFileIsNot) {
  {
    const Descriptor left(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    ASSERT_EQ(::bind(left.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  EXPECT_NO_THROW(LineServer{path_});
  std::ofstream(path_) << "mine";
  EXPECT_THROW(LineServer{path_}, UsageError);
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

TEST_F(LineServerTest, AClientThatIsGoneCostsNothing) {
  LineServer server(path_);
  {
    const Descriptor gone = connected(path_);
    say(gone, "never\n");
  }
  const Descriptor client = connected(path_);
  say(client, "now\n");
  serve(server);
  EXPECT_EQ(heard(client), "to now\n");
  EXPECT_THAT(asked_, ElementsAre("now"));
}

TEST_F(LineServerTest, ALineWithoutEndIsRefused) {
  LineServer server(path_, {.line = 100});
  const Descriptor client = connected(path_);
  say(client, std::string(500, 'x'));
  serve(server);
  EXPECT_THAT(heard(client), HasSubstr("longer than"));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(LineServerTest, TooManyClientsAreToldSo) {
  LineServer server(path_, {.clients = 1});
  const Descriptor first = connected(path_), second = connected(path_);
  say(first, "one\n");
  serve(server);
  serve(server);
  EXPECT_EQ(heard(first), "to one\n");
  EXPECT_THAT(heard(second), HasSubstr("too many clients"));
}

TEST_F(LineServerTest, WhoAsksWithoutEndWaitsInTheSocket) {
  LineServer server(path_, {.waiting = 2});
  const Descriptor greedy = connected(path_);
  std::string many;
  for (int i = 0; i < 60000; ++i) many += "a\n";  // more than is received at once
  say(greedy, many);
  server.serve(
      [&](const std::string& line) {
        asked_.push_back(line);
        return line;
      },
      [] {}, [&] { return asked_.size() >= 8; });
  int left = 0;
  ASSERT_EQ(::ioctl(greedy.number(), SIOCOUTQ, &left), 0);
  EXPECT_GT(left, 0);
}

}  // namespace
}  // namespace jitterscope::judging
