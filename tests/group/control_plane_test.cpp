#include "group/control_plane.hpp"

#include <gmock/gmock.h>

#include <thread>

#include <sys/socket.h>

#include "jitterscope/error.hpp"

namespace jitterscope::group {
namespace {

// Both ends of a connection over the loopback.
struct Connected {
  Listener listener = listen_on(true);
  Connection one{*connect_to("127.0.0.1", listener.port, seconds(10))};
  Connection other{accepted()};

  Descriptor accepted() const {
    wait_for_input({listener.socket.number()}, 10'000);
    return Descriptor(::accept(listener.socket.number(), nullptr, nullptr));
  }
};

std::optional<std::string> line_from(Connection& connection) {
  while (true) {
    if (auto line = connection.next_line()) return line;
    if (!connection.is_open()) return std::nullopt;
    wait_for_input({connection.descriptor()}, 10'000);
    connection.read();
  }
}

TEST(ControlPlane, MessagesReadBackAsTheyWereWritten) {
  const Message message = read_message(
      write_message({.kind = MessageKind::tell, .worker = 7, .text = "{\"a\": \"line\nof two\"}"}));
  EXPECT_EQ(message.kind, MessageKind::tell);
  EXPECT_EQ(message.worker, 7);
  EXPECT_EQ(message.text, "{\"a\": \"line\nof two\"}");
  EXPECT_THAT(write_message(message), testing::Not(testing::HasSubstr("\n"))) << "one message is one line";
}

TEST(ControlPlane, WhatIsNoMessageIsRefused) {
  for (const char* line :
       {"", "{", "[]", "{}", R"({"kind": "explode"})", R"({"kind": "tell", "worker": "a"})"}) {
    EXPECT_THROW(read_message(line), UsageError) << line;
  }
  for (const char* line :
       {"", "{}", R"({"token": "a", "rank": 0, "process": 1, "version": "", "command": ""})"}) {
    EXPECT_THROW(read_hello(line), UsageError) << line;
  }
}

TEST(ControlPlane, LinesComeWholeAndInOrder) {
  Connected pair;
  pair.one.write("first");
  pair.one.write("second");
  EXPECT_EQ(line_from(pair.other), "first");
  EXPECT_EQ(line_from(pair.other), "second");
}

TEST(ControlPlane, ALineOfManyMegabytesPassesAMembersLimitAlone) {
  const std::string line(8u << 20u, 'x');
  {
    Connected pair;
    pair.other.allow(kLargestMessage);
    std::thread writer([&] { pair.one.write(line); });
    EXPECT_EQ(line_from(pair.other), line);
    writer.join();
  }
  Connected pair;
  std::thread writer([&] { pair.one.write(line); });
  EXPECT_EQ(line_from(pair.other), std::nullopt) << "a stranger's line is as long as a hello at most";
  EXPECT_FALSE(pair.other.is_open());
  writer.join();
  EXPECT_FALSE(pair.one.is_open());
}

TEST(ControlPlane, ALineThatIsCutIsNone) {
  Connected pair;
  ::send(pair.one.descriptor(), "half a li", 9, 0);
  pair.one.close();
  EXPECT_EQ(line_from(pair.other), std::nullopt);
}

}  // namespace
}  // namespace jitterscope::group
