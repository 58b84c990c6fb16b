// The key that signs the services' tokens, kept in a Secret of the controller's namespace so that
// all its replicas, and those after them, sign with the same one.
#pragma once

#include "services/base/error.h"
#include "services/controller/kube/client.h"
#include "services/runtime/token.h"

namespace eidolon::controller::kube_host {

// Fields of the Secret; the timing service mounts the public one.
inline constexpr char kPrivateField[] = "private";
inline constexpr char kPublicField[] = "public";

// Reads the key, or makes it where the Secret has none; of several that try at once one wins. The
// Secret itself belongs to the installation, which makes it empty and removes it.
base::Result<runtime::TokenIssuer> FindOrMakeTokenKey(kube::Client* client,
                                                      const kube::ObjectKey& secret);

}  // namespace eidolon::controller::kube_host
