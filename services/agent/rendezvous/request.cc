#include "services/agent/rendezvous/request.h"

#include <cstring>

#include "services/base/text.h"

namespace eidolon::agent::rendezvous {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

constexpr std::uint32_t kMagic = 0x3C85F7CE;  // After kValidate.

// Reads on from a position. After the end everything reads as 0 or empty, and `is_short`.
class Input {
 public:
  explicit Input(std::string_view bytes) : left_(bytes) {}

  template <typename Number>
  Number Take() {
    Number number{};
    if (left_.size() < sizeof(number)) {
      is_short_ = true;
      left_ = {};
      return number;
    }
    std::memcpy(&number, left_.data(), sizeof(number));
    left_.remove_prefix(sizeof(number));
    return number;
  }

  std::string Text(std::uint64_t most) {
    const auto bytes = Take<std::uint64_t>();
    if (bytes > most) {
      wrong_ = StrCat("a text of ", bytes, " bytes, where at most ", most, " are allowed");
      return "";
    }
    if (left_.size() < bytes) {
      is_short_ = true;
      left_ = {};
      return "";
    }
    std::string text(left_.substr(0, bytes));
    left_.remove_prefix(bytes);
    return text;
  }

  std::uint64_t Count() {
    const auto count = Take<std::uint64_t>();
    if (count <= kKeysMax) return count;
    wrong_ = StrCat(count, " keys in one request");
    return 0;
  }

  void Refuse(std::string why) { wrong_ = std::move(why); }
  bool can_go_on() const { return !is_short_ && wrong_.empty(); }
  bool is_short() const { return is_short_; }
  const std::string& wrong() const { return wrong_; }
  std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
  bool is_short_ = false;
  std::string wrong_;
};

void TakeKeys(Input* in, Request* request, bool with_values) {
  const std::uint64_t count = in->Count();
  for (std::uint64_t i = 0; i < count && in->can_go_on(); ++i) {
    request->keys.push_back(in->Text(kKeyBytesMax));
    if (with_values) request->values.push_back(in->Text(kValueBytesMax));
  }
}

void TakeArguments(Input* in, Request* request) {
  switch (request->operation) {
    case Operation::kValidate:
      if (in->Take<std::uint32_t>() != kMagic && in->can_go_on()) {
        in->Refuse("it does not begin as a client of TCPStore does");
      }
      return;
    case Operation::kPing:
      request->number = in->Take<std::uint32_t>();
      return;
    case Operation::kCompareSet:
      request->keys.push_back(in->Text(kKeyBytesMax));
      request->values.push_back(in->Text(kValueBytesMax));
      request->values.push_back(in->Text(kValueBytesMax));
      return;
    case Operation::kSet:
    case Operation::kAppend:
    case Operation::kQueuePush:
      request->keys.push_back(in->Text(kKeyBytesMax));
      request->values.push_back(in->Text(kValueBytesMax));
      return;
    case Operation::kAdd:
      request->keys.push_back(in->Text(kKeyBytesMax));
      request->number = in->Take<std::int64_t>();
      return;
    case Operation::kGet:
    case Operation::kDelete:
    case Operation::kQueuePop:
    case Operation::kQueueLength:
      request->keys.push_back(in->Text(kKeyBytesMax));
      return;
    case Operation::kCheck:
    case Operation::kWait:
    case Operation::kMultiGet:
      return TakeKeys(in, request, false);
    case Operation::kMultiSet:
      return TakeKeys(in, request, true);
    case Operation::kCountKeys:
    case Operation::kCancelWait:
      return;
    case Operation::kCount:
      break;
  }
  in->Refuse(StrCat("operation ", static_cast<int>(request->operation), " is unknown"));
}

}  // namespace

base::Result<std::optional<ReadRequest>> TakeRequest(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  Input in(bytes);
  ReadRequest read;
  read.request.operation = static_cast<Operation>(in.Take<std::uint8_t>());
  TakeArguments(&in, &read.request);
  if (!in.wrong().empty()) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("a request to the rendezvous: ", in.wrong()));
  }
  if (in.is_short()) return std::nullopt;
  read.bytes = bytes.size() - in.left();
  return read;
}

void AppendNumber(std::string* out, std::int64_t number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void AppendText(std::string* out, std::string_view text) {
  AppendNumber(out, static_cast<std::int64_t>(text.size()));
  out->append(text);
}

}  // namespace eidolon::agent::rendezvous
