// Names of GPUs and presets as people type them, and tables of what there is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace eidolon::cli {

// The name that a word means: itself, else the one that differs in case only, else the only one
// that begins with it, whatever the case. Nothing where there is none, or several begin with it.
std::optional<std::string> CompleteName(std::string_view word, std::span<const std::string> names);

// A preset's and a fabric's name that a user has typed, in the same way.
void CompletePreset(std::string* preset);
void CompleteFabric(std::string* fabric);

// `eidolon presets` and `eidolon fabrics`.
std::string FormatPresets();
std::string FormatFabrics();

}  // namespace eidolon::cli
