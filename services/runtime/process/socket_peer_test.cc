#include "services/runtime/process/socket_peer.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace eidolon::process {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

TEST(SocketPeerTest, FindsTheProcessThatConnected) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t bytes = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) _exit(1);
    char byte;
    const ssize_t got = recv(client, &byte, 1, 0);  // Until the other end is closed.
    _exit(got == 0 ? 0 : 1);
  }
  const int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);

  EXPECT_EQ(PeerProcess(accepted), child);
  close(accepted);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(listener);
}

TEST(SocketPeerTest, WhatIsNoConnectionHasNoPeer) {
  const int alone = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(PeerProcess(alone), std::nullopt);
  close(alone);
  EXPECT_EQ(PeerProcess(-1), std::nullopt);
}

TEST(SocketPeerTest, ReadsTheEnvironmentAProcessWasStartedWith) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    const char* const variables[] = {"RANKS=8", "RANK=5", "EMPTY=", nullptr};
    execle("/bin/cat", "cat", nullptr, variables);
    _exit(1);
  }
  char byte = '!';
  ASSERT_EQ(write(ends[0], &byte, 1), 1);
  ASSERT_EQ(read(ends[0], &byte, 1), 1);  // Now it is cat.

  EXPECT_EQ(VariableOf(child, "RANK"), "5");
  EXPECT_EQ(VariableOf(child, "EMPTY"), "");
  EXPECT_EQ(VariableOf(child, "RAN"), std::nullopt);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace eidolon::process
