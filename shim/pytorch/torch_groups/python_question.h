// Questions to the program's own interpreter, where only the Python side knows the answer. Of
// folded jobs alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

namespace eidolon::shim::torch_groups {

// A global variable of the question's code.
struct PythonValue {
  const char* name;
  std::variant<std::string, std::int64_t> value;
};

// Runs the code in globals of its own, which hold `values`, and returns the text that it leaves in
// `answer`; empty: it failed or left none, or the program has no Python. Takes the interpreter's
// lock; the calling thread may hold it.
std::string AskPython(const char* code, std::span<const PythonValue> values);

}  // namespace eidolon::shim::torch_groups
