// A service verifies a token by itself: it keeps no state, sends no request and needs no secret.
// The signature is checked before the payload is parsed, so no field of an unsigned payload is ever
// interpreted. The payload is lines of text, hence Issue requires that a job's name has no line
// break, which would let it add fields. The first line states purpose and version: a signature that
// the same key made for something else does not make a token. Keys and signatures are those of
// Ed25519 (RFC 8032): 32 and 64 bytes. Unix time bounds a token's life, because machines compare
// it.
#include "services/runtime/token.h"

#include <grpcpp/grpcpp.h>
#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/base/hex.h"
#include "services/base/text.h"

namespace eidolon::runtime {
namespace {

constexpr std::string_view kMagic = "eidolon-pass-1";
constexpr std::string_view kAgent = "agent";
constexpr std::string_view kController = "controller";
constexpr std::string_view kBearer = "Bearer ";
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kTokenBytesMax = 8192;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Digest = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned value = 0;
    const char* end = text.data() + at + 2;
    const auto parsed = std::from_chars(text.data() + at, end, value, 16);
    if (parsed.ptr != end || parsed.ec != std::errc()) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return bytes;
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key PrivateKey(std::string_view bytes) {
  return {EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Bytes(bytes), bytes.size()),
          &EVP_PKEY_free};
}

Key PublicKey(std::string_view bytes) {
  return {EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(bytes), bytes.size()),
          &EVP_PKEY_free};
}

std::string PublicHexOf(EVP_PKEY* key) {
  std::string bytes(kKeyBytes, '\0');
  std::size_t size = bytes.size();
  CHECK(EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(bytes.data()), &size) ==
        1);
  return base::Hex(bytes);
}

bool IsSigned(std::string_view payload, std::string_view signature, EVP_PKEY* key) {
  const Digest digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  return EVP_DigestVerifyInit(digest.get(), nullptr, nullptr, nullptr, key) == 1 &&
         EVP_DigestVerify(digest.get(), Bytes(signature), signature.size(), Bytes(payload),
                          payload.size()) == 1;
}

std::optional<Caller> ParsePayload(std::string_view payload, std::int64_t now_unix_s) {
  const auto lines = base::Split(payload, '\n');
  if (lines.size() != 4 || lines[0] != kMagic) return std::nullopt;
  if (lines[1] != kAgent && lines[1] != kController) return std::nullopt;
  const auto expires = base::ParseInteger(lines[2]);
  if (!expires || *expires <= now_unix_s) return std::nullopt;
  return Caller{.is_controller = lines[1] == kController, .job = std::string(lines[3])};
}

}  // namespace

TokenIssuer TokenIssuer::Generate() {
  EVP_PKEY* made = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  CHECK(made != nullptr);
  const Key key(made, &EVP_PKEY_free);
  std::string bytes(kKeyBytes, '\0');
  std::size_t size = bytes.size();
  CHECK(EVP_PKEY_get_raw_private_key(key.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                                     &size) == 1);
  return {base::Hex(bytes), PublicHexOf(key.get())};
}

base::Result<TokenIssuer> TokenIssuer::FromPrivateKey(std::string_view private_key) {
  const auto bytes = FromHex(private_key);
  const Key key =
      bytes && bytes->size() == kKeyBytes ? PrivateKey(*bytes) : Key(nullptr, &EVP_PKEY_free);
  if (key == nullptr) {
    return base::Fail(base::ErrorCode::kCorrupt,
                      "the private key of tokens is not 64 hexadecimal digits");
  }
  return TokenIssuer(std::string(private_key), PublicHexOf(key.get()));
}

std::string TokenIssuer::Issue(const Caller& caller, std::int64_t expires_unix_s) const {
  CHECK(caller.job.find('\n') == std::string::npos);
  const std::string payload =
      base::StrCat(kMagic, "\n", caller.is_controller ? kController : kAgent, "\n", expires_unix_s,
                   "\n", caller.job);
  const Key key = PrivateKey(*FromHex(private_key_));
  const Digest digest(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  CHECK(EVP_DigestSignInit(digest.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  CHECK(EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                       Bytes(payload), payload.size()) == 1);
  return base::StrCat(base::Hex(payload), ".", base::Hex(signature));
}

std::optional<Caller> CheckToken(std::string_view token, std::string_view public_key,
                                 std::int64_t now_unix_s) {
  const std::size_t dot = token.find('.');
  if (dot == token.npos || token.size() > kTokenBytesMax) return std::nullopt;
  const auto payload = FromHex(token.substr(0, dot));
  const auto signature = FromHex(token.substr(dot + 1));
  const auto key_bytes = FromHex(public_key);
  if (!payload || !signature || !key_bytes || signature->size() != kSignatureBytes) {
    return std::nullopt;
  }
  const Key key = PublicKey(*key_bytes);
  if (key == nullptr || !IsSigned(*payload, *signature, key.get())) return std::nullopt;
  return ParsePayload(*payload, now_unix_s);
}

base::Result<TokenGate> TokenGate::Make(std::string_view public_key, const base::RealClock& clock) {
  const auto bytes = FromHex(public_key);
  if (!bytes || bytes->size() != kKeyBytes || PublicKey(*bytes) == nullptr) {
    return base::Fail(
        base::ErrorCode::kInvalidArgument,
        base::StrCat("the public key of tokens is not 64 hexadecimal digits: '", public_key, "'"));
  }
  TokenGate gate;
  gate.public_key_ = public_key;
  gate.clock_ = &clock;
  return gate;
}

grpc::Status TokenGate::Admit(const grpc::ServerContextBase* context, Caller* caller) const {
  if (public_key_.empty()) {
    *caller = {.is_controller = true, .job = {}};
    return grpc::Status::OK;
  }
  const auto& metadata = context->client_metadata();
  const auto shown = metadata.find("authorization");
  if (shown == metadata.end()) {
    return {grpc::StatusCode::UNAUTHENTICATED, "the call shows no token of the controller"};
  }
  std::string_view value(shown->second.data(), shown->second.size());
  std::optional<Caller> found;
  if (value.starts_with(kBearer)) {
    value.remove_prefix(kBearer.size());
    found = CheckToken(value, public_key_, clock_->UnixNs() / 1'000'000'000);
  }
  if (!found) {
    return {grpc::StatusCode::UNAUTHENTICATED,
            "the token is not signed by the controller, or has expired"};
  }
  *caller = std::move(*found);
  return grpc::Status::OK;
}

void AttachToken(const std::string& token, grpc::ClientContext* context) {
  if (!token.empty()) context->AddMetadata("authorization", std::string(kBearer) + token);
}

}  // namespace eidolon::runtime
