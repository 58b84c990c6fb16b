// The folder of the Unix sockets through which the processes of one embedded controller reach each
// other. TCP ports of loopback would be open to every user of the machine.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "services/base/error.h"
#include "services/controller/place/run_directory.h"

namespace eidolon::controller::embedded {

// Owns the folder, which is its user's alone and goes at the end. One that a killed process has
// left is removed by its agents or by the next controller with this run root.
class SocketFolder {
 public:
  // `run_root`: as in ControllerHostOptions.
  static base::Result<SocketFolder> Make(const std::string& run_root);

  const std::string& path() const { return directory_.path(); }
  std::string PathOf(std::string_view name) const;
  // Returns the address as gRPC takes it.
  std::string AddressOf(std::string_view name) const { return "unix:" + PathOf(name); }

 private:
  explicit SocketFolder(place::RunDirectory directory) : directory_(std::move(directory)) {}

  place::RunDirectory directory_;
};

}  // namespace eidolon::controller::embedded
