// Writes a command's output for its user. A report that is cut short, because a disk is full or
// its reader has gone, must not look like success: the first failure of standard output is
// remembered and becomes the command's exit status.
#pragma once

#include <cstdio>
#include <optional>
#include <string_view>

namespace eidolon::base {

// Keeps files that are opened later from taking the numbers of standard streams that the caller has
// closed, and so from being printed into; writes to a closed standard output fail. Call first.
void ReserveStandardStreams();

// Writes to standard output, at once. Thread safe.
void Print(std::string_view text);
// The same to another stream, whose failures are not remembered.
void PrintTo(std::FILE* out, std::string_view text);

// The errno of the first failure of standard output, for commands that would go on printing.
std::optional<int> OutputError();

// Closes standard output. Answers the command's exit status: `status`, or that of a failure when
// not everything has arrived, which stderr names. Of a pipe that nobody reads any more it is silent
// and 141, as if SIGPIPE had ended the command. Call last.
int FinishOutput(int status);

}  // namespace eidolon::base
