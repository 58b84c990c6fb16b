// Ranks that a program of a folded job asks for by their number, `if rank == 17: dist.send(...)`,
// and that have no process: what they do there is not what the rank does that they are mirrored
// from, and nobody would see that it is missing.
#pragma once

#include <cstdint>
#include <string>

namespace eidolon::shim::nccl {

// A sentence that names the first such line and what to do; empty: there is none. Looks, once in a
// process, through the program's own loaded modules (not those of installed packages) for a branch
// on a name with "rank" in it that is compared with numbers, and that communicates itself.
// `live`: of the job, with commas between them; `world`: ranks of the job.
std::string FindMirroredByName(const std::string& live, std::uint32_t world);

}  // namespace eidolon::shim::nccl
