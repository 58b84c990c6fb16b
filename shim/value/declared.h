// The job's declared values (services/contract/ring/declaration.h) at work: which of them is about
// bytes that nobody knows, and what stands there then.
//
// A declared value is for what the host reads. A declared routing stands in memory, so that small
// kernels and collectives compute with it, as soon as somebody needs a byte of it: it is the same
// vector whoever looks first, until the router is called again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/contract/ring/declaration.h"
#include "shim/value/author_table.h"
#include "shim/value/store.h"

namespace eidolon::shim::value {

// Thread safe.
class Declared {
 public:
  Declared(std::vector<ring::Declaration> declarations, std::uint64_t rank);

  bool empty() const { return declarations_.empty(); }
  // Some declaration is about lines of the program.
  bool needs_lines() const { return needs_lines_; }
  bool has_routing() const { return has_routing_; }
  bool has_values() const { return has_values_; }

  // What the host shall read there; null: nothing was declared. `line`: of the reader.
  const ring::Declaration* FindValue(const Origin& origin, std::string_view line);
  // Puts the routing that is declared for this memory into the store. False: there is none, or the
  // address lies behind it.
  bool Provide(Store& store, std::uint64_t address);

  // A routing that was used first, since the last call.
  struct Use {
    const ring::Declaration* declaration = nullptr;
    Author author = kNobody;
    std::uint32_t pointer = 0;
  };
  std::vector<Use> TakeUses();

 private:
  // Numbers in declarations_: those whose kernel pattern fits the author's name.
  const std::vector<std::size_t>& CandidatesOf(Author author);

  const std::vector<ring::Declaration> declarations_;
  const std::uint64_t rank_;
  bool needs_lines_ = false;
  bool has_routing_ = false;
  bool has_values_ = false;
  std::mutex mutex_;  // Guards the rest.
  std::map<Author, std::vector<std::size_t>> candidates_;
  std::set<std::size_t> used_;
  std::vector<Use> uses_;
};

// Those of the process: read from its run directory at the first call.
Declared& ProcessDeclared();

// True when TakeUses of the process's would give something. Cheap.
bool HasDeclaredUses();

// Matches the whole name with '*' and '?', else a part of it.
bool FitsPattern(std::string_view name, std::string_view pattern);
// "a/router.py:120" fits the line "/home/me/a/router.py:120".
bool FitsLine(std::string_view line, std::string_view pattern);
// The bytes of a number, cut to the type's range.
std::vector<unsigned char> BytesOfNumber(double number, ring::ElementType type);
// Puts the number where the host's copy of [address, address + size) is not known. False: the
// type's elements do not fit the range.
bool FillUnknown(const ring::Declaration& declaration, const Store& store, std::uint64_t address,
                 unsigned char* host, std::size_t size);
// "float32 0.5", "routing of 64 experts".
std::string Describe(const ring::Declaration& declaration);

}  // namespace eidolon::shim::value
