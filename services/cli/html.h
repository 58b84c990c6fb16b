// HTML as a text that is put together. What comes from documents is escaped where it is put in.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace eidolon::cli::html {

// Names and values of attributes. Names are the program's own, values are escaped.
using Attributes = std::initializer_list<std::pair<std::string_view, std::string>>;

// The text with <, >, & and quotes as entities, control characters as "\x1b" and those that turn
// the direction of writing as "\u202e" (printable.h). At most `bytes_max` bytes of it, and a note
// of how many are missing.
std::string Escape(std::string_view text, std::size_t bytes_max = 4000);

// <name attributes>inner</name>. `inner` is markup: texts go through Escape first.
std::string Element(std::string_view name, Attributes attributes, const std::string& inner);
// Without attributes, around a text of a document.
std::string Text(std::string_view name, std::string_view text);

}  // namespace eidolon::cli::html
