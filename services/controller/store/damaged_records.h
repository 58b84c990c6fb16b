// The copies of damaged records that are kept when something takes their place: text files in the
// data folder's damaged/, for a person to read.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "services/base/error.h"
#include "services/controller/store/database.h"
#include "services/controller/store/store_schema.h"

namespace eidolon::controller::store {

struct DamagedRecord {
  const Table* table = nullptr;
  std::int64_t row_id = 0;
  std::string what;  // "the checksum of its status does not match".
};

// "job 7".
std::string TitleOf(const DamagedRecord& record);

// Writes the row, every column as it is stored, to a new file in FOLDER/damaged. Answers its path.
// The row stays.
base::Result<std::string> KeepCopy(Database* database, const DamagedRecord& record,
                                   const std::string& folder);

// Before parts of a row are written over: when one of them is damaged, keeps a copy of the row and
// logs that.
base::Result<void> KeepDamaged(Database* database, const Table& table, std::span<const Part> parts,
                               std::int64_t row_id, const std::string& folder);

}  // namespace eidolon::controller::store
