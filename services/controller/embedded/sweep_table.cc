// Sweeps and jobs share one writer, whose duties are counted by job; a sweep uses the negative of
// its uid, which no job has. A later duty takes the place of an earlier one, so Save always writes
// document and status together: a duty that wrote the status alone could drop a document that
// waits. For the same reason a change that comes back after the sweep was marked for deletion saves
// the mark again, unless the removal is already under way.
#include "services/controller/embedded/sweep_table.h"

#include <algorithm>

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/embedded/stored_object.h"
#include "services/controller/store/record_form.h"

namespace eidolon::controller::embedded {

using base::Result;
using base::StrCat;
using nlohmann::json;

namespace {

// The writer counts duties by job; uids of jobs are above 0.
std::int64_t DutyOf(std::int64_t sweep_uid) { return -sweep_uid; }

std::string TitleOf(const SweepEntry& sweep) {
  return StrCat("sweep ", sweep.name_space, "/", sweep.name);
}

}  // namespace

void SweepTable::Load(const std::vector<store::StoredSweep>& rows, store::StoreWriter* writer,
                      const std::string& folder) {
  writer_ = writer;
  for (const store::StoredSweep& row : rows) {
    if (const std::string damage = store::DamageOf(row); !damage.empty()) {
      ShowDamaged(row, damage, folder);
      continue;
    }
    SweepEntry& entry = sweeps_[row.uid];
    entry = {.uid = row.uid,
             .name_space = row.name_space,
             .name = row.name,
             .created_unix_ns = row.created_unix_ns,
             .version = NextVersion(),
             .document = ParseStored(row.document),
             .status = ParseStored(row.status),
             .spec = {},
             .changing = false,
             .removing = false};
    entry.spec = sweep::ParseSweep(entry.document, job::Mode::kEmbedded).spec;
  }
}

void SweepTable::ShowDamaged(const store::StoredSweep& row, const std::string& damage,
                             const std::string& folder) {
  const DamagedObject object = {
      .kind = sweep::kSweepKind,
      .record = StrCat("sweep ", row.uid),
      .damage = damage,
      .name_space = row.name_space,
      .name = row.name,
      .document_text = store::IsDocumentDamaged(damage) ? "" : row.document};
  const auto [name_space, name] = ShownName(object);
  base::Log(
      base::Level::kError, "damaged_record",
      {{"record", object.record}, {"sweep", StrCat(name_space, "/", name)}, {"damage", damage}});
  sweeps_[row.uid] = {.uid = row.uid,
                      .name_space = name_space,
                      .name = name,
                      .created_unix_ns = row.created_unix_ns,
                      .version = NextVersion(),
                      .document = ShownDocument(object),
                      .status = ShownStatus(object, folder, base::FormatUtc(clock_.UnixNs())),
                      .spec = {},
                      .changing = false,
                      .removing = false,
                      .damage = damage};
}

std::int64_t SweepTable::NextVersion() {
  last_version_ = std::max(last_version_ + 1, clock_.UnixNs() / 1'000'000);
  return last_version_;
}

SweepEntry* SweepTable::Find(std::int64_t uid) {
  const auto found = sweeps_.find(uid);
  return found == sweeps_.end() ? nullptr : &found->second;
}

SweepEntry* SweepTable::Find(const std::string& name_space, const std::string& name) {
  const auto found = std::ranges::find_if(sweeps_, [&](const auto& row) {
    return row.second.name == name && row.second.name_space == name_space;
  });
  return found == sweeps_.end() ? nullptr : &found->second;
}

SweepTable::Asked SweepTable::Create(const std::string& name_space,
                                     const sweep::ParsedSweep& parsed, const json& document,
                                     std::function<void(const Result<SweepEntry*>&)> then) {
  const std::string name = NewNameOf(parsed.metadata);
  auto entry = std::make_shared<SweepEntry>();
  *entry = {.uid = 0,
            .name_space = name_space,
            .name = name,
            .created_unix_ns = clock_.UnixNs(),
            .version = 0,
            .document = AcceptedDocument(name_space, name, document),
            .status = {{"phase", "Pending"}},
            .spec = parsed.spec,
            .changing = false,
            .removing = false};
  const store::StoredSweep row = {.uid = 0,
                                  .name_space = name_space,
                                  .name = name,
                                  .created_unix_ns = entry->created_unix_ns,
                                  .document = entry->document.dump(),
                                  .status = entry->status.dump()};
  return writer_->Ask({.write = [row, entry](store::JobStore& store) -> Result<void> {
                         const auto uid = store.CreateSweep(row);
                         if (!uid) return std::unexpected(uid.error());
                         entry->uid = *uid;
                         return {};
                       },
                       .is_stored = [row, entry](store::JobStore& store) -> Result<bool> {
                         const auto rows = store.LoadSweeps();
                         if (!rows) return std::unexpected(rows.error());
                         for (const store::StoredSweep& found : *rows) {
                           if (found.name != row.name || found.name_space != row.name_space)
                             continue;
                           entry->uid = found.uid;
                           return found.created_unix_ns == row.created_unix_ns;
                         }
                         return false;
                       },
                       .done =
                           [this, entry, then = std::move(then)](const Result<void>& stored) {
                             if (!stored) return then(std::unexpected(stored.error()));
                             entry->version = NextVersion();
                             then(&sweeps_.emplace(entry->uid, std::move(*entry)).first->second);
                           }});
}

void SweepTable::Save(SweepEntry* sweep, const std::string& what) {
  sweep->version = NextVersion();
  writer_->Keep(
      {.job = DutyOf(sweep->uid),
       .what = StrCat(TitleOf(*sweep), ": ", what),
       .write = [uid = sweep->uid, document = sweep->document.dump(),
                 status = sweep->status.dump()](
                    store::JobStore& store) { return store.SaveSweep(uid, document, status); },
       .done = nullptr});
}

SweepTable::Asked SweepTable::Replace(SweepEntry* sweep, json document,
                                      std::function<void(const Result<SweepEntry*>&)> then) {
  const std::int64_t uid = sweep->uid;
  const std::string text = document.dump();
  auto asked = writer_->Ask(
      {.write = [uid, text](store::JobStore& store) { return store.SaveSweepDocument(uid, text); },
       .is_stored = [uid, text](store::JobStore& store) -> Result<bool> {
         const auto rows = store.LoadSweeps();
         if (!rows) return std::unexpected(rows.error());
         return std::ranges::any_of(*rows, [&](const store::StoredSweep& row) {
           return row.uid == uid && row.document == text;
         });
       },
       .done =
           [this, uid, document = std::move(document),
            then = std::move(then)](const Result<void>& stored) {
             SweepEntry* entry = Find(uid);
             if (entry == nullptr || entry->is_unwanted()) {
               // Another duty would take the place of the removal.
               if (entry != nullptr && !entry->removing) Save(entry, "to be deleted");
               return then(
                   base::Fail(base::ErrorCode::kNotFound, "the sweep was deleted meanwhile"));
             }
             entry->changing = false;
             if (!stored) return then(std::unexpected(stored.error()));
             entry->document = document;
             entry->spec = sweep::ParseSweep(document, job::Mode::kEmbedded).spec;
             // A status that waits to be saved has the document of before with it.
             Save(entry, "its change");
             then(entry);
           }});
  sweep->changing = asked.has_value();
  return asked;
}

void SweepTable::SetStatus(SweepEntry* sweep, json status) {
  sweep->status = std::move(status);
  Save(sweep, "its status");
}

void SweepTable::MarkUnwanted(SweepEntry* sweep) {
  if (sweep->is_unwanted()) return;
  sweep->document["metadata"]["deletionTimestamp"] = base::FormatUtc(clock_.UnixNs());
  Save(sweep, "to be deleted");
}

void SweepTable::Remove(SweepEntry* sweep, std::function<void()> then) {
  sweep->removing = true;
  writer_->Keep(
      {.job = DutyOf(sweep->uid),
       .what = StrCat(TitleOf(*sweep), ": deleted"),
       .write = [uid = sweep->uid](store::JobStore& store) { return store.DeleteSweep(uid); },
       .done =
           [this, uid = sweep->uid, then = std::move(then)] {
             sweeps_.erase(uid);
             if (then) then();
           }});
}

json SweepTable::Render(const SweepEntry& sweep) {
  json object = sweep.document;
  object["metadata"]["uid"] = std::to_string(sweep.uid);
  object["metadata"]["resourceVersion"] = std::to_string(sweep.version);
  object["metadata"]["creationTimestamp"] = base::FormatUtc(sweep.created_unix_ns);
  object["status"] = sweep.status;
  return object;
}

}  // namespace eidolon::controller::embedded
