// The model files of this folder as text, put into the binary by the build.
#pragma once

#include <span>
#include <string_view>

namespace eidolon::timing::gpu_model {

struct EmbeddedModel {
  std::string_view name;  // File name, for messages.
  std::string_view text;
};

std::span<const EmbeddedModel> EmbeddedModels();

}  // namespace eidolon::timing::gpu_model
