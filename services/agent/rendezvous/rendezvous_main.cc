// The rendezvous by itself, for e2e/behaviours/test_rendezvous.py:
//   rendezvous_server RANKS LIVE[,LIVE...]
// Prints its port. For each line that it reads it prints what ranks wait for, and then an empty
// line; it ends with its input.
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "services/agent/rendezvous/store_server.h"
#include "services/base/text.h"

int main(int argc, char** argv) {
  namespace base = eidolon::base;
  namespace rendezvous = eidolon::agent::rendezvous;
  rendezvous::World world;
  if (argc == 3) {
    world.size = static_cast<std::int32_t>(base::ParseInteger(argv[1]).value_or(0));
    for (const std::string_view rank : base::Split(argv[2], ',')) {
      world.live.push_back(static_cast<std::int32_t>(base::ParseInteger(rank).value_or(-1)));
    }
  }
  if (world.size <= 0) {
    std::fprintf(stderr, "usage: rendezvous_server RANKS LIVE[,LIVE...]\n");
    return 2;
  }
  auto server = rendezvous::StoreServer::Start({.address = "127.0.0.1", .world = std::move(world)});
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  std::cout << (*server)->port() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    for (const std::string& wait : (*server)->DescribeWaits()) std::cout << wait << "\n";
    std::cout << std::endl;
  }
  return 0;
}
