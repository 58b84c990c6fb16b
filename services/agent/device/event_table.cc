#include "services/agent/device/event_table.h"

#include "services/base/text.h"

namespace eidolon::agent::device {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

base::Result<void> EventTable::Create(std::uint32_t event) {
  if (events_.Find(event) != nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " exists already"));
  }
  events_.Insert(event, signals_->Add());
  return {};
}

base::Result<void> EventTable::Destroy(std::uint32_t event) {
  const SignalTable::Slot* found = events_.Find(event);
  if (found == nullptr) {
    return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " does not exist"));
  }
  signals_->Release(*found);
  events_.Erase(event);
  return {};
}

const Signal* EventTable::Find(std::uint32_t event) {
  const SignalTable::Slot* found = events_.Find(event);
  return found == nullptr ? nullptr : &(*signals_)[*found];
}

base::Result<Signal> EventTable::Get(std::uint32_t event) {
  const Signal* found = Find(event);
  if (found != nullptr) return *found;
  return Fail(ErrorCode::kCorrupt, StrCat("event ", event, " does not exist"));
}

bool EventTable::Record(std::uint32_t event, const Signal& signal) {
  const SignalTable::Slot* found = events_.Find(event);
  if (found == nullptr) return false;
  work_->Assign(*found, signal);
  return true;
}

}  // namespace eidolon::agent::device
