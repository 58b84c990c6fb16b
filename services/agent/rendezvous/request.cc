// Bytes arrive in any portions, and a request may have a million keys, so parsing continues where
// it stopped instead of starting again: each field is consumed as soon as it is whole. One string
// for each operation describes its arguments. Lengths are checked before bytes are awaited, or a
// damaged length would make the server buffer without end. The memory of the texts themselves
// counts, since a million empty keys are not free.
#include "services/agent/rendezvous/request.h"

#include <cstring>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::rendezvous {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

constexpr std::uint32_t kMagic = 0x3C85F7CE;  // After kValidate.

// The arguments of an operation, one character each: k a key, v a value, n a number of eight bytes,
// p one of four, m the magic number. Those in `each` come several times, after the number of times.
struct Arguments {
  std::string_view once;
  std::string_view each;
};

Arguments ArgumentsOf(Operation operation) {
  switch (operation) {
    case Operation::kValidate:
      return {.once = "m", .each = ""};
    case Operation::kPing:
      return {.once = "p", .each = ""};
    case Operation::kCompareSet:
      return {.once = "kvv", .each = ""};
    case Operation::kSet:
    case Operation::kAppend:
    case Operation::kQueuePush:
      return {.once = "kv", .each = ""};
    case Operation::kAdd:
    case Operation::kBarrier:
      return {.once = "kn", .each = ""};
    case Operation::kGet:
    case Operation::kDelete:
    case Operation::kQueuePop:
    case Operation::kQueueLength:
      return {.once = "k", .each = ""};
    case Operation::kCheck:
    case Operation::kWait:
    case Operation::kMultiGet:
      return {.once = "", .each = "k"};
    case Operation::kMultiSet:
      return {.once = "", .each = "kv"};
    case Operation::kCountKeys:
    case Operation::kCancelWait:
    case Operation::kListKeys:
    case Operation::kCount:
      break;
  }
  return {};
}

auto Refuse(ErrorCode code, const std::string& why) {
  return Fail(code, StrCat("a request to the rendezvous: ", why));
}

}  // namespace

void RequestReader::Append(std::string_view bytes) {
  // Whoever moves the rest has taken as many bytes before.
  if (position_ >= buffer_.size() - position_) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
  buffer_.append(bytes);
}

template <typename Number>
std::optional<Number> RequestReader::Peek() const {
  Number number{};
  if (buffer_.size() - position_ < sizeof(number)) return std::nullopt;
  std::memcpy(&number, buffer_.data() + position_, sizeof(number));
  return number;
}

template <typename Number>
std::optional<Number> RequestReader::Take() {
  const auto number = Peek<Number>();
  if (number.has_value()) position_ += sizeof(*number);
  return number;
}

base::Result<std::optional<Request>> RequestReader::Next() {
  if (!has_begun_) {
    const auto number = Take<std::uint8_t>();
    if (!number.has_value()) return std::nullopt;
    if (*number >= static_cast<std::uint8_t>(Operation::kCount)) {
      return Refuse(ErrorCode::kUnsupported,
                    StrCat("operation ", static_cast<int>(*number),
                           " is unknown: TCPStore of PyTorch 2.2 to 2.15 does not have it"));
    }
    request_ = Request{.operation = static_cast<Operation>(*number)};
    const Arguments arguments = ArgumentsOf(request_.operation);
    fields_ = arguments.once;
    each_ = arguments.each;
    needs_count_ = !each_.empty();
    has_begun_ = true;
  }
  while (true) {
    if (!fields_.empty()) {
      const auto taken = TakeField(fields_.front());
      if (!taken) return std::unexpected(taken.error());
      if (!*taken) return std::nullopt;
      fields_.remove_prefix(1);
    } else if (needs_count_) {
      const auto count = Take<std::uint64_t>();
      if (!count.has_value()) return std::nullopt;
      if (*count > kKeysMax) {
        return Refuse(ErrorCode::kResourceExhausted,
                      StrCat(*count, " keys in one, where at most ", kKeysMax, " are allowed"));
      }
      rounds_ = *count;
      needs_count_ = false;
    } else if (rounds_ > 0) {
      --rounds_;
      fields_ = each_;
    } else {
      has_begun_ = false;
      request_bytes_ = 0;
      return std::move(request_);
    }
  }
}

// False: it has not come yet.
base::Result<bool> RequestReader::TakeField(char field) {
  switch (field) {
    case 'k':
      return TakeText(kKeyBytesMax, &request_.keys);
    case 'v':
      return TakeText(kValueBytesMax, &request_.values);
    case 'n': {
      const auto number = Take<std::int64_t>();
      request_.number = number.value_or(0);
      return number.has_value();
    }
    case 'p': {
      const auto number = Take<std::uint32_t>();
      request_.number = number.value_or(0);
      return number.has_value();
    }
    default: {
      const auto magic = Take<std::uint32_t>();
      if (magic.value_or(kMagic) != kMagic) {
        return Refuse(ErrorCode::kInvalidArgument,
                      "it does not begin as a client of TCPStore does");
      }
      return magic.has_value();
    }
  }
}

base::Result<bool> RequestReader::TakeText(std::uint64_t most, std::vector<std::string>* texts) {
  const auto bytes = Peek<std::uint64_t>();
  if (!bytes.has_value()) return false;
  if (*bytes > most) {
    return Refuse(ErrorCode::kResourceExhausted,
                  StrCat("a text of ", *bytes, " bytes, where at most ", most, " are allowed"));
  }
  if (request_bytes_ + *bytes + kBytesPerText > bytes_max_) {
    return Refuse(ErrorCode::kResourceExhausted,
                  StrCat("it is larger than the ", bytes_max_, " bytes that are allowed"));
  }
  const std::size_t begin = position_ + sizeof(*bytes);
  if (buffer_.size() - begin < *bytes) return false;
  texts->emplace_back(buffer_, begin, *bytes);
  position_ = begin + *bytes;
  request_bytes_ += *bytes + kBytesPerText;
  return true;
}

void AppendNumber(std::string* out, std::int64_t number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void AppendText(std::string* out, std::string_view text) {
  AppendNumber(out, static_cast<std::int64_t>(text.size()));
  out->append(text);
}

}  // namespace eidolon::agent::rendezvous
