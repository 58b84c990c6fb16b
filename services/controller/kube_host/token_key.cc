#include "services/controller/kube_host/token_key.h"

#include <openssl/evp.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::controller::kube_host {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using nlohmann::json;

constexpr int kAttempts = 10;  // Each is lost to another replica at most once.

const unsigned char* Bytes(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Base64, as a Secret's `data` has it.
std::string Encode(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), Bytes(bytes),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// Empty when the text is not base64.
std::string Decode(const std::string& text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), Bytes(text),
                                   static_cast<int>(text.size()));
  const auto padding = static_cast<int>(std::count(text.begin(), text.end(), '='));
  bytes.resize(static_cast<std::size_t>(std::max(0, size - padding)));
  return bytes;
}

std::unexpected<base::Error> Failure(const char* doing, const kube::ObjectKey& secret,
                                     const std::string& why) {
  return Fail(ErrorCode::kUnavailable, StrCat(doing, " the key of tokens, Secret ",
                                              secret.name_space, "/", secret.name, ": ", why));
}

}  // namespace

Result<runtime::TokenIssuer> FindOrMakeTokenKey(kube::Client* client,
                                                const kube::ObjectKey& secret) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto found = client->Get(kube::kSecrets, secret);
    if (!found) return Failure("reading", secret, found.error().message);
    const json data = found->value("data", json::object());
    if (data.contains(kPrivateField)) {
      const auto kept =
          runtime::TokenIssuer::FromPrivateKey(Decode(data[kPrivateField].get<std::string>()));
      if (!kept) return Failure("reading", secret, kept.error().message);
      return kept;
    }
    const auto made = runtime::TokenIssuer::Generate();
    // The version that was read guards against another replica's key.
    const json change = {
        {"metadata", {{"resourceVersion", (*found)["metadata"].value("resourceVersion", "")}}},
        {"data",
         {{kPrivateField, Encode(made.private_key())}, {kPublicField, Encode(made.public_key())}}}};
    const auto written = client->MergePatch(kube::kSecrets, secret, change);
    if (written) {
      base::Log(base::Level::kInfo, "token_key_made", {{"secret", secret.name}});
      return made;
    }
    if (!written.error().IsConflict()) {
      return Failure("writing", secret, written.error().message);
    }
  }
  return Failure("writing", secret, "others are always quicker");
}

}  // namespace eidolon::controller::kube_host
