#include "services/controller/embedded/socket_folder.h"

#include "services/base/text.h"

namespace eidolon::controller::embedded {

base::Result<SocketFolder> SocketFolder::Make(const std::string& run_root) {
  auto directory = place::RunDirectory::MakeForServices(
      run_root.empty() ? place::RunDirectory::DefaultRoot() : run_root);
  if (!directory) return std::unexpected(directory.error());
  return SocketFolder(std::move(*directory));
}

std::string SocketFolder::PathOf(std::string_view name) const {
  return base::StrCat(path(), "/", name, ".sock");
}

}  // namespace eidolon::controller::embedded
