// A file with traces of ranks: an agent writes one of its server, the controller reads all of them.
//
//   file  := block*                       files behind each other are a file
//   block := head                         numbers of what follows
//            launch gaps, operations, host events, communication, transfers, links
//            bytes of each name, names
//
// Numbers have the machine's byte order, which is that of x86-64 wherever agents run.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <vector>

#include "services/base/error.h"
#include "services/contract/critical_path/trace.h"

namespace eidolon::critical_path {

void Write(const RankTrace& trace, std::ostream* out);

// Fails unless every number points at something that is there, and no time comes before one that it
// has to follow.
base::Result<std::vector<RankTrace>> Parse(std::span<const std::byte> file);

}  // namespace eidolon::critical_path
